"""An overloaded daemon says so, keeps serving its earlier clients, and has room again afterwards."""

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from msgpack import Unpacker, packb

import reel
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

pytestmark = pytest.mark.large

PING = packb([0, 1, "ping", []])
MIB = 1 << 20


@pytest.fixture(autouse=True)
def files() -> Iterator[None]:
    """Raise the limit of open files: the test needs as many as the daemon."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def dialled(daemon: Daemon, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that send nothing yet."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            opened.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            opened[-1].connect(daemon.socket)
            opened[-1].settimeout(PATIENCE)
        yield opened


def asked(stranger: socket.socket, data: bytes = PING) -> Any:
    """Send a request; return the reply, or ``None`` if the daemon hung up."""
    unpacker = Unpacker()
    with suppress(OSError):
        stranger.sendall(data)
        while piece := stranger.recv(1 << 16):
            unpacker.feed(piece)
            for answer in unpacker:
                return answer
    return None


def until(daemon: Daemon, name: str, value: int) -> None:
    """Poll the daemon's counters until one has the expected value; each poll is a round trip."""
    deadline = time.monotonic() + PATIENCE
    found = None
    while time.monotonic() < deadline:
        with suppress(reel.Busy, reel.NotRunning), daemon.client() as client:  # one of very many is not heard at all
            found = client.stats()[name]
            if found == value:
                return
    pytest.fail(f"{name} is {found}")


def errors(daemon: Daemon) -> list[str]:
    """Return the errors in the daemon's log."""
    return [line for line in daemon.log.read_text().splitlines() if " ERROR " in line or "Traceback" in line]


def test_thousands_of_connections(prepared: Daemon) -> None:
    """The daemon serves the allowed connections, refuses one more in its own framing, and later has room again."""
    prepared.options = ["--connection-max-open", "1500"]
    prepared.start()
    with prepared.client() as client, dialled(prepared, 1498) as opened:
        assert [[1, 1, None, {"pong": True}]] * 1498 == [asked(each) for each in opened]
        with dialled(prepared, 3) as more:
            assert [1, 1, None, {"pong": True}] == asked(more[0])
            (kind, number, error, _) = asked(more[1])
            assert (1, None) == (kind, number)
            assert error[1].startswith("busy: too many connections are open")
            more[2].sendall(b'{"id":1,"method":"ping"}\n')
            assert b'"busy: too many' in more[2].recv(1000)
        assert client.ping()
    until(prepared, "connections", 1)

    with prepared.client() as client:
        assert client.stats()["refused_connections"] >= 2
    assert [] == errors(prepared)


def test_one_too_many_for_our_client(prepared: Daemon) -> None:
    """A client that is one too many raises busy, with the remedy."""
    prepared.options = ["--connection-max-open", "3"]
    prepared.start()
    with ExitStack() as stack:

        def one_more() -> bool:
            return stack.enter_context(prepared.client()).ping()

        with pytest.raises(reel.Busy, match="--connection-max-open"):
            assert all(one_more() for _ in range(4))


def test_no_more_files(prepared: Daemon) -> None:
    """If the system allows few files, connections wait or are refused; nothing fails, and later there is room again."""
    prepared.files = 160
    prepared.start()
    with prepared.client() as client:
        client.create("demo")
        with dialled(prepared, 400) as opened:
            for number in range(20):
                client.add("demo", str(number))
            assert client.replay("demo").matched is True
            assert client.stats()["open_files"] < 160
            assert [1, 1, None, {"pong": True}] == asked(opened[0])
    until(prepared, "connections", 1)

    assert [] == errors(prepared)
    assert "connections are limited to 64" in prepared.log.read_text()


def test_senders_that_never_finish(prepared: Daemon) -> None:
    """Incomplete messages have a common limit: the connection with the most is closed, and the others continue."""
    prepared.options = ["--connection-all-waiting", str(32 * MIB)]
    prepared.start()
    half = b"\x94\x00\x01\xa3add\x92\xa4demo\xdb\x00\xf8\x00\x00" + b"x" * (15 * MIB)
    with prepared.client() as client, dialled(prepared, 12) as opened:
        for stranger in opened:
            with suppress(OSError):
                stranger.sendall(half)
            assert client.ping()
        stats = client.stats()
        assert stats["bytes_waiting"] <= 32 * MIB
        assert stats["dropped_connections"] >= 9
        client.add("demo", "x" * (10 * MIB), create=True)
    until(prepared, "bytes_waiting", 0)

    assert prepared.largest_memory() < 250 * MIB


def test_readers_that_never_read(prepared: Daemon) -> None:
    """Unread replies have a common limit; a client that reads is served."""
    prepared.options = ["--connection-all-waiting", str(48 * MIB)]
    prepared.start()
    with prepared.client() as client, dialled(prepared, 20) as opened:
        client.add("demo", ["x" * MIB] * 7, create=True)
        for stranger in opened:
            with suppress(OSError):
                stranger.sendall(b"".join(packb([0, number, "messages", ["demo"]]) for number in range(3)))
            assert 1 == len(client.messages("demo", last=1).messages)
        assert client.stats()["bytes_waiting"] <= 48 * MIB
        assert client.stats()["dropped_connections"] >= 10
    until(prepared, "bytes_waiting", 0)

    assert prepared.largest_memory() < 350 * MIB


def test_subscribers_that_never_read(prepared: Daemon) -> None:
    """Drafts and events for clients that do not read are dropped, or the clients are; nobody waits for them."""
    prepared.options = ["--connection-all-waiting", str(32 * MIB)]
    prepared.start()
    with prepared.client() as client, dialled(prepared, 30) as opened:
        for name in "abcdefgh":
            client.create(name)
        for stranger in opened:
            stranger.sendall(packb([0, 1, "subscribe", []]))
        for number in range(5):
            for name in "abcdefgh":
                client.draft(name, f"{number}" * MIB)
                client.add(name, "x" * (MIB // 2))
        assert client.stats()["bytes_waiting"] <= 32 * MIB
    until(prepared, "bytes_waiting", 0)

    assert prepared.largest_memory() < 250 * MIB
    assert [] == errors(prepared)


def test_waits_of_one_connection(client: Client, daemon: Daemon) -> None:
    """The limit of waiting requests of a connection is reached with a busy error, and later there is room again."""
    client.create("demo")
    with dialled(daemon, 1) as (stranger,):
        for first, last in ((1000, 1200), (1200, 1257)):
            assert {"pong": True} == asked(stranger)[3]  # what was sent before has stepped aside
            stranger.sendall(b"".join(packb([0, n, "wait", ["demo", 1]]) for n in range(first, last)))
        assert asked(stranger, b"")[2][1].startswith("busy: too many requests")
        assert 2 == client.add("demo", "go on").head
        answers = Unpacker()
        seen = 0
        while seen < 256:
            answers.feed(stranger.recv(1 << 16))
            seen += sum(1 for _ in answers)
        assert 300 == asked(stranger, packb([0, 300, "wait", ["demo", 1]]))[1]


def test_a_message_of_nothing_but_values(daemon: Daemon, client: Client) -> None:
    """16 MiB of empty lists are refused in every framing, and count with their size in memory."""
    rows = b"\xdc\xff\xff" + b"\x90" * 65535
    hostile = [
        b"\x94\x00\x01\xa3add\x92\xa4demo\xdc\x00\xff" + rows * 255,
        b'{"id":1,"method":"add","params":["demo",[' + b"[]," * (5 * MIB) + b"[]]]}\n",
    ]
    for data in hostile * 2:
        with dialled(daemon, 1) as (stranger,):
            stranger.sendall(data)
            stranger.shutdown(socket.SHUT_WR)
            assert b"too_large: a message may have 1048576 values" in stranger.recv(1 << 16)
        assert client.ping()

    assert daemon.largest_memory() < 250 * MIB


def test_many_such_messages_at_once(prepared: Daemon) -> None:
    """Requests in flight count with their size in memory, not with their bytes."""
    prepared.start()
    row = packb([0, 1, "add", ["demo", [[]] * 20_000]])
    with prepared.client() as client, dialled(prepared, 4) as opened:
        client.add("demo", ["x" * 1000] * 5000, create=True)
        for stranger in opened:
            with suppress(OSError):
                stranger.sendall(packb([0, 2, "replay", ["demo"]]) + row * 100)
            assert client.ping()
    until(prepared, "requests_in_flight", 1)

    assert prepared.largest_memory() < 400 * MIB
    assert os.path.exists(prepared.socket)
