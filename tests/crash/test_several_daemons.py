"""Three daemons on one PostgreSQL server: they are killed, as the server is, while clients write through all."""

import os
import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from reel.errors import ReelError
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory, until
from tests.forkserver import ForkedDaemon
from tests.postgres import Server, own_server

LONG = bool(os.environ.get("REEL_CRASH_LONG"))
DAEMONS, WRITERS, AGENTS = 3, 4, 2
# Deaths of a run, and what is acknowledged between two of them.
DEATHS, BETWEEN = (60, 60) if LONG else (3, 20)


@contextmanager
def daemons(server: Server) -> Iterator[list[Daemon]]:
    """Start daemons on a server."""
    with ExitStack() as stack:
        made: list[Daemon] = []
        for _ in range(DAEMONS):
            made.append(ForkedDaemon(stack.enter_context(short_directory())))
            made[-1].database = server.url
            stack.callback(made[-1].close)
            made[-1].start()
        yield made


class Writer:
    """Adds numbered texts to some agents, each through any daemon, and under its key until it is acknowledged."""

    def __init__(self, number: int, sockets: list[str]) -> None:
        self.acknowledged: list[list[str]] = [[] for _ in range(AGENTS)]
        self.failures = 0
        self._number = number
        self._sockets = sockets
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the text that is being added."""
        self._over.set()
        self._thread.join()

    @property
    def count(self) -> int:
        """How many texts were acknowledged."""
        return sum(map(len, self.acknowledged))

    def _run(self) -> None:
        chosen = random.Random(self._number)
        step = 0
        while not self._over.is_set():
            agent, text = chosen.randrange(AGENTS), f"{self._number}.{step}"
            while not self._is_added(chosen.choice(self._sockets), agent, text):
                self.failures += 1
            self.acknowledged[agent].append(text)
            step += 1

    def _is_added(self, socket: str, agent: int, text: str) -> bool:
        try:
            with Client(socket, patience=0.2) as client:
                client.add(f"agent-{agent}", text, key=text)
        except ReelError:
            return False
        return True


@pytest.mark.parametrize("seed", range(3 if LONG else 1))
def test_nothing_is_lost_or_doubled(seed: int) -> None:
    """What was acknowledged is there once, in the order of its writer, whatever died; all daemons say the same."""
    chance, victims = random.Random(seed), list[Daemon | Server]()
    with own_server("synchronous_commit=on", "fsync=off") as server, daemons(server) as running:
        victims += [*running, server]
        with running[0].client() as client:
            for agent in range(AGENTS):
                client.create(f"agent-{agent}")
        writers = [Writer(number, [daemon.socket for daemon in running]) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            for _ in range(DEATHS):
                wanted = sum(writer.count for writer in writers) + BETWEEN
                until(lambda: sum(writer.count for writer in writers) >= wanted)  # noqa: B023 - it is called at once
                victim = chance.choice(victims)
                if isinstance(victim, Server):
                    victim.stop()
                    victim.start()
                else:
                    victim.kill()
                    victim.start()
        finally:
            for writer in writers:
                writer.stop()
        for agent in range(AGENTS):
            found = []
            for daemon in running:
                with daemon.client() as client:
                    found.append([each["content"] for each in client.iter_conversation(f"agent-{agent}")])
            told = [text for text in found[0] if text is not None]
            assert all(other == found[0] for other in found)
            assert len(set(told)) == len(told)
            for number, writer in enumerate(writers):
                assert writer.acknowledged[agent] == [text for text in told if text.startswith(f"{number}.")]
