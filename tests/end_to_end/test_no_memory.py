"""A daemon that gets no more memory refuses the requests that need it, and goes on with all others."""

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgpack
import pytest

from reel.base.errors import Busy, ReelError
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux changes the limits of a running process"),
]

MEGABYTE = 1 << 20
# Bytes of a text in a request, so many that its decoded form does not fit beside it.
LONG = 12 * MEGABYTE


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A daemon that has what it needs, and may take 40 MB more."""
    with short_directory() as directory, closing(Daemon(directory).start()) as daemon:
        with daemon.client() as client:
            client.create("small")
            for _ in range(10):
                client.add("large", "x" * 4 * MEGABYTE, create=True)
            client.render("small", "openai-chat", model="m")
        limit(daemon, 40 * MEGABYTE)
        yield daemon


def limit(daemon: Daemon, more: int) -> None:
    """Let a daemon have so many more bytes of addresses than it has now."""
    pages = int(Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[0])
    _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_AS)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))


def works(daemon: Daemon) -> bool:
    """Return whether another client's commands are carried out as always."""
    with daemon.client() as client:
        before = client.agent("small").head
        return [client.add("small", "hi").head for _ in range(20)][-1] == before + 20


def outcome(daemon: Daemon, ask: Callable[[Client], object]) -> type[Exception] | None:
    """Return the type of the error of a request; ``None`` if it succeeded."""
    with daemon.client() as client:
        try:
            ask(client)
        except (ReelError, OSError) as error:
            return type(error)
    return None


def test_half_messages(daemon: Daemon) -> None:
    """Half messages beyond the memory that there is close their connections, and no other."""
    half = msgpack.packb([0, 1, "add", ["small", "x" * LONG]])[:-1]
    with daemon.client() as other, ExitStack() as stack:
        other.ping()
        for _ in range(20):
            peer = stack.enter_context(socket.socket(socket.AF_UNIX))
            peer.connect(daemon.socket)
            try:
                peer.sendall(half)
            except OSError:  # it was closed
                continue
        assert other.ping()
        assert "memory: up to " in daemon.log.read_text()
        assert works(daemon)
    assert "Traceback" not in daemon.log.read_text()


def test_large_requests(daemon: Daemon) -> None:
    """A request for which there is not enough memory is refused, or its connection ends; the others are carried out."""
    limit(daemon, 8 * MEGABYTE)
    outcomes = [
        outcome(daemon, lambda client: client.render("large", "openai-chat", model="m")),
        outcome(daemon, lambda client: client.messages("large", max_bytes=16 * MEGABYTE)),
        outcome(daemon, lambda client: client.add("small", "x" * LONG)),
    ]

    assert Busy in outcomes
    assert works(daemon)
    assert "Traceback" not in daemon.log.read_text()
    limit(daemon, 1 << 30)
    with daemon.client() as client:
        assert [] == list(client.verify().problems)
        assert 10 == len(client.render("large", "openai-chat", model="m").body) // (4 * MEGABYTE)
