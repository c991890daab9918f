"""The queued bytes of all connections and the warnings about them, without connections."""

import logging
from collections.abc import Callable

import anyio
import pytest

from reeld.serving.flow import ClientWarnings, Traffic
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect

_REFUSED = ServerMessagePack().notify("no_such_method", [])
_COMPLAINT = ServerMessagePack().notify("nvim_error_event", [0, "no such function"])


class Bearing:
    """A stand-in for a connection."""

    def __init__(self, number: int, load: Traffic) -> None:
        self.number = number
        self.waiting = 0
        self.load = load
        self.dropped = False
        load.peers.add(self)

    def drop(self) -> None:
        self.load.waiting -= self.waiting
        self.waiting = 0
        self.dropped = True

    def take(self, size: int) -> None:
        self.waiting += size
        self.load.buffer(size, 100)


def test_the_limit_itself_is_allowed() -> None:
    """The limit is allowed; above it the connections with the most queued bytes are dropped until it holds."""
    load = Traffic()
    one, two, three = (Bearing(number, load) for number in range(3))
    for bearing, size in ((one, 30), (two, 40), (three, 30)):
        bearing.take(size)
    assert [False] * 3 == [one.dropped, two.dropped, three.dropped]
    one.take(1)
    assert [False, True, False] == [one.dropped, two.dropped, three.dropped]

    three.take(200)
    assert [False, True, True] == [one.dropped, two.dropped, three.dropped]
    assert (31, 2) == (load.waiting, load.dropped)


def test_nobody_to_drop() -> None:
    """Counted bytes that belong to no connection drop none."""
    load = Traffic()
    load.buffer(200, 100)
    idle = Bearing(1, load)
    load.buffer(1, 100)

    assert not idle.dropped


@pytest.mark.parametrize("sent", [_REFUSED, _COMPLAINT], ids=["refused", "Neovim's"])
async def test_one_client(connect: Connect, errors: Callable[[], list[str]], sent: bytes) -> None:
    """Of a thousand warnings about a connection twenty are logged, and then how many are missing."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(sent * 1000)
        await peer.call("ping")
        assert [20, 1] == [len(errors()), len(set(errors()))]

        peer.load.warnings.report()
    assert "warnings about connections that are missing above: 980" == errors()[-1]


@pytest.mark.slow
async def test_many_clients(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """All connections together have a limit as well: each could be a new one of the same client."""
    with anyio.fail_after(PATIENCE):
        for _ in range(210):
            peer = connect()
            await peer.send(_REFUSED)
            await peer.call("ping")

    assert 200 == len(errors())


async def test_one_client_hides_no_other(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """What one connection does too often does not keep another one out of the log, nor another kind of warning."""
    with anyio.fail_after(PATIENCE):
        noisy, other = connect(), connect()
        await noisy.send(_REFUSED * 100 + _COMPLAINT)
        await noisy.call("ping")
        await other.send(_REFUSED)
        await other.call("ping")

    assert ["connection=1 its Neovim failed on a push", "connection=2 notification=? failed: method_not_found"] == (
        errors()[-2:]
    )


def test_after_a_report(caplog: pytest.LogCaptureFixture) -> None:
    """After a report warnings are logged again; if none is missing, there is no report."""
    warnings = ClientWarnings()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            warnings.warn(1, "connection=%d is noisy", 1)
            warnings.report()

    assert ["connection=1 is noisy"] * 2 == caplog.messages
