"""A daemon under siege: the clients that make it work, and everything that was ever asked of it."""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread

from reel.sync.client import Client
from tests.crash import tally
from tests.crash.checker import check
from tests.crash.choices import Names
from tests.crash.clients import Worker
from tests.crash.evidence import evidence
from tests.daemon import PATIENCE, Daemon, until


class Siege:
    """A daemon under load that dies again and again.

    Args:
        daemon: whose start and death is the test's affair.
        seed: decides what its clients do.
        workers: how many they are.
    """

    def __init__(self, daemon: Daemon, seed: int, workers: int = 3) -> None:
        self.daemon = daemon
        self.random = random.Random(seed)
        self._names = Names()
        self._workers = [self._worker(number) for number in range(workers)]
        self._counted = defaultdict[str, int](int)

    def _worker(self, number: int) -> Worker:
        return Worker(f"w{number}", self.daemon.socket, self._names, self.random.getrandbits(32))

    @contextmanager
    def load(self) -> Iterator[None]:
        """Let all clients work until the block ends; those whom nobody answers end by themselves."""
        stop = Event()
        threads = [Thread(target=worker.run, args=(stop,)) for worker in self._workers]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(PATIENCE)

    def work(self, commands: int) -> None:
        """Wait under load until so many more commands were acknowledged."""
        wanted = self._acknowledged() + commands
        until(lambda: self._acknowledged() >= wanted)

    def _acknowledged(self) -> int:
        return sum(call.acknowledged for worker in self._workers for call in worker.calls)

    def look(self) -> None:
        """Look whether everything is as it was acknowledged.

        Raises:
            AssertionError: it is not.
        """
        calls = [call for worker in self._workers for call in worker.calls]
        with Client(self.daemon.socket) as client:
            events, living = evidence(client)
            problems = check(calls, events, living)
            found = client.verify().problems
        assert not problems, "\n".join(problems[:10])
        assert not found, found
        tally.count("histories found right")
        replies = [call.reply for call in calls if call.acknowledged and call.reply is not None]
        self._count(
            {
                "acknowledged commands checked": len(replies),
                "of them repeated under their keys": sum("repeated" in reply for reply in replies),
                "of them killed several agents": sum(len(reply.get("killed", ())) > 1 for reply in replies),
                "of them gave a new name": sum(call.renames for call in calls),
                "refusals checked": sum(call.error is not None for call in calls),
                "reads checked": sum(call.method == "messages" and call.reply is not None for call in calls),
                "events checked": len(events),
            }
        )

    def _count(self, counts: dict[str, int]) -> None:
        """Count what was not there at the last look."""
        for what, times in counts.items():
            tally.count(what, times - self._counted[what])
        self._counted.update(counts)


def integrity(path: str) -> list[tuple[str, ...]]:
    """Let SQLite check a database."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return [*connection.execute("PRAGMA integrity_check"), *connection.execute("PRAGMA foreign_key_check")]
