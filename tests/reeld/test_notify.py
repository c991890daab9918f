"""Notifications to the supervisor, and the socket that it may pass."""

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest
from trio.testing import MockClock

from reeld.notify import Supervisor, find_supervisor, inherited_socket, path_of
from reeld.startup import StartupError
from tests.patience import PATIENCE

ME = str(os.getpid())


@pytest.fixture(params=["path", "abstract"])
def ear(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """A supervisor's address, and the socket there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        if request.param == "path":
            address = str(tmp_path / "notify")
            listening.bind(address)
        else:
            address = f"@reel-test-{ME}"
            listening.bind(f"\0{address[1:]}")
        listening.settimeout(PATIENCE)
        yield address, listening


def test_facts_are_sent_together(ear: tuple[str, socket.socket]) -> None:
    """Facts are sent in one datagram, a line each."""
    address, listening = ear
    Supervisor(address).notify("READY=1", "STATUS=listens on /ä")

    assert "READY=1\nSTATUS=listens on /ä".encode() == listening.recv(1000)


def test_nobody_to_tell(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a supervisor nothing is sent; one that has gone is logged once."""
    Supervisor().notify("READY=1")
    assert [] == caplog.messages
    Supervisor(str(tmp_path / "gone")).notify("READY=1")

    assert [
        f"the supervisor on {tmp_path}/gone cannot be notified of READY=1: [Errno 2] No such file or directory"
    ] == (caplog.messages)


@pytest.mark.parametrize(
    ("environment", "watchdog"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": ME}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_of_this_process(environment: Mapping[str, str], watchdog: float | None) -> None:
    """The watchdog is used if it is set, and meant for this process."""
    assert watchdog == find_supervisor(environment).watchdog


async def test_signs_of_life(
    ear: tuple[str, socket.socket],
    autojump_clock: MockClock,  # noqa: ARG001 - pytest-trio runs the test by it
) -> None:
    """A heartbeat is sent twice as often as needed, and not while the writer shows no progress."""
    address, listening = ear
    listening.setblocking(False)
    alive = anyio.Event()
    with anyio.fail_after(1000):  # of the virtual clock
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Supervisor(address, 10.0).watchdog_loop, alive.wait)
            await anyio.sleep(100)
            with pytest.raises(BlockingIOError):
                listening.recv(1000)
            alive.set()
            await anyio.sleep(19)
            tasks.cancel_scope.cancel()

    assert [b"WATCHDOG=1"] * 4 == [listening.recv(1000) for _ in range(4)]
    with pytest.raises(BlockingIOError):
        listening.recv(1000)


async def test_more_time_to_start(
    ear: tuple[str, socket.socket],
    autojump_clock: MockClock,  # noqa: ARG001 - as above
) -> None:
    """A start that takes long asks for more time, each time before the last is over; one that is quick does not."""
    address, listening = ear
    listening.setblocking(False)
    opened = anyio.Event()
    with anyio.fail_after(1000):  # of the virtual clock
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Supervisor(address).extend_start, opened)
            await anyio.sleep(16)
            opened.set()
        await anyio.sleep(100)

    assert [b"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=opens the database"] * 3 == [listening.recv(1000) for _ in range(3)]
    with pytest.raises(BlockingIOError):
        listening.recv(1000)


async def test_no_watchdog(ear: tuple[str, socket.socket]) -> None:
    """Without a watchdog no heartbeats are sent."""
    await Supervisor(ear[0]).watchdog_loop(anyio.lowlevel.checkpoint)

    ear[1].setblocking(False)
    with pytest.raises(BlockingIOError):
        ear[1].recv(1000)


@pytest.mark.parametrize("environment", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}])
def test_nothing_given(environment: Mapping[str, str]) -> None:
    """A socket that was passed to another process is not used."""
    assert inherited_socket(environment) is None


def test_too_many_given() -> None:
    """Several passed sockets are refused: clients would not know which one to use."""
    with pytest.raises(StartupError, match="the supervisor passes 2 sockets; reeld listens on exactly one"):
        inherited_socket({"LISTEN_PID": ME, "LISTEN_FDS": "2"})


def test_name_of_an_abstract_socket() -> None:
    """An abstract socket has no path, and is named with ``@``."""
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0reel-test-{ME}")

        assert f"@reel-test-{ME}" == path_of(abstract)
