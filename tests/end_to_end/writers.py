"""Clients that write all the time, and the replies that they got."""

import threading
from typing import Self

from reel.base.errors import ReelError
from tests.daemon import Daemon, until
from tests.patience import PATIENCE


class Writers:
    """Clients that add messages until they are told to end, or are refused.

    Args:
        daemon: whose.
        number: how many, each with an agent of its own.
    """

    def __init__(self, daemon: Daemon, number: int = 4) -> None:
        # The acknowledged texts.
        self.texts: list[str] = []
        # The error that ended a writer early.
        self.errors: list[ReelError] = []
        self._daemon = daemon
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(f"agent-{each}",)) for each in range(number)]

    def _write(self, agent: str) -> None:
        with self._daemon.client() as client:
            number = 0
            while not self._ended.is_set():
                number += 1
                try:
                    client.add(agent, text := f"{agent} {number}", create=True)
                except ReelError as error:
                    self.errors.append(error)
                    return
                self.texts.append(text)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.wait_for_more(50)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.wait_for_the_end()

    def wait_for_the_end(self) -> None:
        """Wait until every writer has ended: on request, or after an error."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def wait_for_more(self, number: int) -> None:
        """Wait until so many more adds were acknowledged."""
        enough = len(self.texts) + number
        until(lambda: len(self.texts) >= enough)


def texts(daemon: Daemon) -> set[str | None]:
    """Return every text that was added."""
    with daemon.client() as client:
        return {record["content"] for agent in client.iter_agents() for record in client.iter_conversation(agent.id)}
