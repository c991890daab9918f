"""Memory that the daemon no longer needs goes back to the system."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgpack import packb

from tests.daemon import Daemon, TidyDaemon, until

pytestmark = pytest.mark.large

MIB = 1 << 20


@pytest.fixture
def prepared(directory: Path) -> Iterator[Daemon]:
    """A daemon that is not started yet; it ends with the test."""
    daemon = TidyDaemon(directory)
    yield daemon
    daemon.close()


def test_after_readers_that_never_read(daemon: Daemon) -> None:
    """What waited for clients that do not read is given back when they are gone."""
    with daemon.client() as client, ExitStack() as stack:
        client.add("demo", ["x" * MIB] * 4, create=True)
        before = daemon.anonymous_memory()
        for _ in range(40):
            stranger = stack.enter_context(socket.socket(socket.AF_UNIX))
            stranger.connect(daemon.socket)
            stranger.sendall(packb([0, 1, "messages", ["demo"]]))
        until(lambda: client.stats()["bytes_waiting"] >= 160 * MIB)
        assert daemon.anonymous_memory() > before + 140 * MIB

        stack.close()
        until(lambda: daemon.anonymous_memory() < before + 25 * MIB)
