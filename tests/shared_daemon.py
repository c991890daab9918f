"""A daemon that the tests of a module share, and a client of it; a ``conftest`` imports the fixtures."""

from collections.abc import Iterator

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that runs for the whole module."""
    with short_directory() as directory:
        daemon = ForkedDaemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of the module's daemon."""
    with daemon.client() as client:
        yield client
