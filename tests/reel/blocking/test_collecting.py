"""The garbage collector is paused from the first piece of a long reply to its last, and no longer."""

import gc
import socket
from collections.abc import Iterator

import msgpack
import pytest

from reel import requests
from reel.sync.connection import Connection, Deadline
from tests.patience import PATIENCE

REPLY = msgpack.packb([1, 1, None, {"pong": True}])
PUSH = msgpack.packb([2, "bye", [{}]])


class Pieces:
    """A connection to which a piece arrives whenever it waits for one, and whether the collector ran then."""

    def __init__(self, *pieces: bytes) -> None:
        self.seen: list[bool] = []
        self._pieces = list(pieces)
        ours, self._theirs = socket.socketpair()
        self.connection = Connection(ours, "a socket", self._wait)

    def _wait(self, _descriptor: int, _left: float | None) -> None:
        self.seen.append(gc.isenabled())
        if self._pieces:
            self._theirs.sendall(self._pieces.pop(0))
        else:
            self._theirs.shutdown(socket.SHUT_WR)

    def ask(self) -> object:
        """Send a request, and return its result."""
        return self.connection.ask(requests.ping(), Deadline(PATIENCE))

    def close(self) -> None:
        """Close both ends."""
        self.connection.close()
        self._theirs.close()


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """The collector runs before a test, and after it."""
    assert gc.isenabled()
    yield
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([REPLY], [True]),
        ([REPLY[:3], REPLY[3:5], REPLY[5:]], [True, False, False]),
        ([PUSH, REPLY], [True, True]),
        ([PUSH[:3], PUSH[3:], REPLY[:3], REPLY[3:]], [True, False, True, False]),
        ([PUSH + REPLY[:3], REPLY[3:] + PUSH], [True, False]),
    ],
)
def test_it_is_paused_amid_a_message(pieces: list[bytes], expected: list[bool]) -> None:
    """While a part of a message has arrived, the collector does not run; before that it does."""
    it = Pieces(*pieces)

    assert {"pong": True} == it.ask()
    assert expected == it.seen
    it.close()


def test_it_goes_on_while_a_daemon_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs while nothing comes, although a part of a message has arrived, and is paused for the rest of it."""
    monkeypatch.setattr("reel.sync.connection._SOON", 0.01)
    it = Pieces(REPLY[:3], b"", REPLY[3:5], REPLY[5:])

    assert {"pong": True} == it.ask()
    assert [True, False, True, False] == it.seen
    it.close()


def test_the_limit_of_a_call_counts_amid_its_reply() -> None:
    """A call that has a time limit ends at it, and the connection with it."""
    it = Pieces(REPLY[:3], b"", b"")
    with pytest.raises(TimeoutError):
        it.connection.ask(requests.ping(), Deadline(0.01))

    assert it.connection.is_closed
    it.close()


def test_it_goes_on_after_a_lost_connection() -> None:
    """It runs again if the rest never comes."""
    it = Pieces(REPLY[:3])
    with pytest.raises(EOFError):
        it.ask()

    assert [True, False] == it.seen
    it.close()
