"""Clients that send too much, or nonsense, do not disturb the others."""

import select
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from msgpack import Unpacker, packb

import reel
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE
from tests.pipeline import Pipeline

pytestmark = [pytest.mark.large, pytest.mark.usefixtures("on_each_engine")]


@pytest.fixture
def stranger(daemon: Daemon) -> Iterator[socket.socket]:
    """A bare connection."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(PATIENCE)
        stranger.connect(daemon.socket)
        yield stranger


def rest(stranger: socket.socket) -> bytes:
    """Read to the end of a connection."""
    data = b""
    with suppress(ConnectionResetError):
        while piece := stranger.recv(1 << 16):
            data += piece
    return data


def test_message_of_ten_megabytes(client: Client) -> None:
    """A large message is stored and read again, together with the messages around it."""
    large = "x" * 5_000_000 + "\n" + "ä" * 2_500_000
    client.add("demo", ["before", large, "after"], create=True)
    texts = [message["content"][0].get("text") for message in client.iter_messages("demo")]

    assert ["before", large, "after"] == texts
    assert [event["content"] for event in client.iter_history("demo")][1:] == texts
    assert [{"type": "text", "text": "after"}] == client.messages("demo", last=1).messages[0]["content"]


def test_message_over_the_limit(client: Client) -> None:
    """A message over the limit is refused with an error that names it, and the client continues."""
    with pytest.raises(reel.TooLarge):
        client.add("demo", "x" * (17 << 20), create=True)

    assert [] == client.agents().agents


def test_frame_that_claims_a_gigabyte(daemon: Daemon, client: Client, stranger: socket.socket) -> None:
    """A frame over the limit ends its connection with an error before it has arrived; others are served meanwhile."""
    stranger.sendall(b"\x94\x00\x01\xa3add\x92\xa4demo\xdb\x40\x00\x00\x00")
    assert client.ping()
    with suppress(OSError):
        for _ in range(64):
            stranger.sendall(b"x" * (1 << 20))

    assert b"too_large: " in rest(stranger)
    assert client.ping()
    assert daemon.largest_memory() < 150 << 20


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"\x00" * 1000,
        b"\x90" + bytes(range(256)) * 1000,
        b"\xdd\xff\xff\xff\xff",
        packb([0, 1, "add", ["demo"]])[:-2],
        packb([2, "add", ["demo", "lost"]]) * 100,
        packb([0, 1, "create", []]) * 50,
    ],
)
def test_garbage_and_a_hang_up(client: Client, stranger: socket.socket, data: bytes) -> None:
    """After a client sent garbage and hung up, the next one is served."""
    with suppress(OSError):
        stranger.sendall(data)
    stranger.close()

    assert 2 == client.add("demo", "hi", create=True).head
    assert client.replay("demo").matched is True


def test_nobody_reads(daemon: Daemon, client: Client, stranger: socket.socket) -> None:
    """A client that requests and never reads is dropped, and costs the daemon at most its limit of memory."""
    client.add("demo", "x" * 1_000_000, create=True)
    with suppress(OSError):
        for number in range(1000):
            stranger.sendall(packb([0, number, "messages", ["demo"]]))

    assert client.ping()
    hung_up = select.poll()
    hung_up.register(stranger, 0)
    ((_, events),) = hung_up.poll(PATIENCE * 1000)
    assert events & select.POLLHUP
    assert daemon.largest_memory() < 200 << 20


def test_client_with_a_name_that_is_no_text(client: Client, stranger: socket.socket) -> None:
    """A client name that cannot be stored is refused before anything is stored with it."""
    stranger.sendall(b"\x94\x00\x01\xa5hello\x91\x81\xa6client\x81\xa4name\xa1\xff")
    stranger.sendall(packb([0, 2, "create", ["demo"]]))
    stranger.shutdown(socket.SHUT_WR)
    unpacker = Unpacker()
    unpacker.feed(rest(stranger))
    outcomes = {number: error for _, number, error, _ in unpacker}

    assert 1 == outcomes[1][0]
    assert outcomes[2] is None
    assert 1 == client.agent("demo").head


def test_a_half_close_of_a_client(daemon: Daemon) -> None:
    """A client that sends everything and half-closes reads all its replies, then the end."""
    with Pipeline(daemon.socket) as pipeline:
        pipeline.send([("create", "demo"), *[("add", "demo", str(number)) for number in range(200)]])
        pipeline.socket.shutdown(socket.SHUT_WR)
        pipeline.receive()

    assert set(range(1, 202)) == pipeline.answers.keys()
    assert [None] * 201 == [answer.error for answer in pipeline.answers.values()]


def test_more_than_may_be_in_flight(daemon: Daemon, client: Client) -> None:
    """Of too many requests a prefix is accepted and the rest refused; all get replies, and nothing else is added."""
    client.create("demo")
    with Pipeline(daemon.socket) as pipeline:
        pipeline.send([("create",), *[("add", "demo", str(number)) for number in range(2000)]])
        pipeline.receive(2001)
    refused = {number for number, answer in pipeline.answers.items() if answer.error is not None}
    texts = [message["content"][0].get("text") for message in client.iter_messages("demo")]

    assert refused
    assert [str(number - 2) for number in sorted(pipeline.answers.keys() - refused - {1})] == texts
    assert texts[:250] == [str(number) for number in range(250)]


def test_counters(client: Client) -> None:
    """In the end the only request in flight is the one that asks for the counters."""
    client.add("demo", "hi", create=True)
    stats = client.stats()

    assert (1, 1) == (stats["requests_in_flight"], stats["connections"])
    assert (1, 1, 2) == (stats["agents"], stats["living_agents"], stats["newest_event"])
