"""The clients that load a daemon, and the check of everything that they recorded."""

import os
import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from threading import Event, Thread

from reel.sync.client import Client
from reeld.verify.sqlite import EVENT_REFERENCES
from tests.crash import recorded, stats
from tests.crash.checker import check
from tests.crash.clients import Worker
from tests.crash.command_generator import Names
from tests.crash.final_state import read_final_state
from tests.daemon import Daemon, until
from tests.patience import PATIENCE

LONG = bool(os.environ.get("REEL_CRASH_LONG"))


class Workload:
    """Clients that load a daemon through its deaths.

    Args:
        daemon: the daemon, which the test starts and kills.
        seed: seed of the commands.
        workers: number of clients.
        others: more daemons of the same database.
    """

    def __init__(self, daemon: Daemon, seed: int, workers: int = 3, others: Sequence[Daemon] = ()) -> None:
        self.daemon = daemon
        self._paths = [daemon.socket, *(other.socket for other in others)]
        self.random = random.Random(seed)
        self._names = Names()
        self._workers = [self._worker(number) for number in range(workers)]
        self._counted = defaultdict[str, int](int)

    def _worker(self, number: int) -> Worker:
        return Worker(f"w{number}", self._paths, self._names, self.random.getrandbits(32))

    @contextmanager
    def load(self) -> Iterator[None]:
        """Run all clients until the block ends; a client stops early if the daemon refuses its connection."""
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

    def wait_for_commands(self, commands: int) -> None:
        """Wait until so many more commands were acknowledged; call it during :meth:`load`."""
        wanted = self._acknowledged() + commands
        until(lambda: self._acknowledged() >= wanted)

    def _acknowledged(self) -> int:
        return sum(call.acknowledged for worker in self._workers for call in worker.calls)

    def verify(self) -> None:
        """Check the history, and let the daemon verify its database.

        Raises:
            AssertionError: there is a problem.
        """
        calls = [call for worker in self._workers for call in worker.calls]
        with Client(self.daemon.socket) as client:
            events, final = read_final_state(client)
            problems = check(calls, events, final)
            found = client.verify().problems
        assert not problems, "\n".join([*problems[:10], f"all of it: {recorded.write(calls, events, final)}"])
        assert not found, found
        stats.count("histories found right")
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

    def verify_in_between(self) -> None:
        """Do so if there is time for it: what is lost, doubled or torn once is so at the end as well.

        Raises:
            AssertionError: there is a problem.
        """
        if LONG:
            self.verify()

    def _count(self, counts: dict[str, int]) -> None:
        """Count the increase since the last check."""
        for what, times in counts.items():
            stats.count(what, times - self._counted[what])
        self._counted.update(counts)


def integrity(path: str) -> list[tuple[str, ...]]:
    """Return the results of SQLite's checks of a database."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        checks = ["PRAGMA integrity_check", "PRAGMA foreign_key_check"]
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'events'").fetchone():  # not before it is made
            checks += EVENT_REFERENCES.values()
        return [found for check in checks for found in connection.execute(check)]
