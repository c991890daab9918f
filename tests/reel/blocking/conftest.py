"""A real daemon that the tests of a module share, a client of it, and a daemon that follows a script."""

from collections.abc import Iterator

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.reel.blocking.scripted_daemon import Script


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that the tests of this module share."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of that daemon."""
    with daemon.client() as client:
        yield client


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A unique name for the test's agent."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name).strip("-")


@pytest.fixture
def script() -> Iterator[Script]:
    """A daemon that follows a script."""
    with short_directory() as directory:
        script = Script(directory / "s")
        yield script
        script.close()
