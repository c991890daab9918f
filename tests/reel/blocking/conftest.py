"""A client of the daemon, and a daemon that follows a script."""

from collections.abc import Iterator

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.reel.blocking.scripted_daemon import Script


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of the daemon that the tests of a module share."""
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
