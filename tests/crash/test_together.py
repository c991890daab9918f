"""A command on several agents is in all of their logs or in none, wherever the daemon was killed."""

import sqlite3
from collections import Counter
from contextlib import closing, suppress
from random import Random
from threading import Event, Thread

import pytest

from reel import requests
from reel.base.errors import ReelError
from reel.sync.client import Client
from tests.crash.crash_points import CALLS, STATEMENTS
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.test_deaths import death_at
from tests.crash.workload import LONG
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

NAMES = ["a", "b", "c"]
# Between the first statement of the transaction and the reply.
_POINTS = [
    *(point for point in STATEMENTS if point.startswith(("before BEGIN", "before the heads", "between rows"))),
    *("before the keys", "before COMMIT", "after COMMIT"),
    *("committed, before it is applied", "applied, before the answer", "before the answer leaves"),
]
_TEXTS = "SELECT a.name, e.content FROM events e JOIN agents a ON a.id = e.agent WHERE e.kind = 'user'"


class Writer:
    """A client that writes to several agents at once, in any order; it repeats what was not answered."""

    def __init__(self, socket: str, number: int) -> None:
        self.done: list[str] = []
        self._socket = socket
        self._number = number

    def run(self, stop: Event) -> None:
        """Write until the daemon is gone for good, or ``stop`` is set."""
        chance = Random(self._number)
        with suppress(ReelError), Client(self._socket, patience=PATIENCE) as client:
            while not stop.is_set():
                text = f"{self._number}.{len(self.done)}"
                order = chance.sample(NAMES, k=len(NAMES))
                client.commit([requests.add(name, [text, f"{text}+"], create=True) for name in order])
                self.done.append(text)


def written(database: str) -> dict[str, Counter[str]]:
    """Return what each agent has, read from the file."""
    texts = {name: Counter[str]() for name in NAMES}
    with closing(sqlite3.connect(database)) as connection:
        for name, text in connection.execute(_TEXTS):
            texts[name][text] += 1
    return texts


def test_death_at_every_point(crashing: CrashingDaemon) -> None:
    """After a death at any point of the commit all agents have the same, and in the end what was answered, once."""
    assert set(_POINTS) <= {*STATEMENTS, *CALLS}
    stop = Event()
    crashing.start()
    writers = [Writer(crashing.socket, number) for number in range(3)]
    threads = [Thread(target=writer.run, args=(stop,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        for point in _POINTS if LONG else _POINTS[::2]:
            with death_at(crashing, point):
                pass
            texts = written(crashing.database)
            assert texts["a"] == texts["b"] == texts["c"], point
            crashing.start()
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    with Client(crashing.socket) as client:
        assert [] == client.verify().problems
    expected = Counter(text for writer in writers for done in writer.done for text in (done, f"{done}+"))

    assert expected
    assert dict.fromkeys(NAMES, expected) == written(crashing.database)
