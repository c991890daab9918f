"""A daemon of the test's own, and a client of it."""

from collections.abc import Iterator

import pytest

from reel.blocking import Client
from tests.daemon import Daemon, short_directory


@pytest.fixture
def prepared() -> Iterator[Daemon]:
    """A daemon that is not started yet; it is ended with the test."""
    with short_directory() as directory:
        daemon = Daemon(directory)
        yield daemon
        daemon.close()


@pytest.fixture
def daemon(prepared: Daemon) -> Daemon:
    """A daemon that runs."""
    return prepared.start()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client that is connected to the daemon."""
    with daemon.client() as client:
        yield client
