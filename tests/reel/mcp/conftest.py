"""A daemon that the tests of a module share, and what calls the tools of a server on it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.reel.mcp.asking import Asker, asker


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of the daemon."""
    with daemon.client() as client:
        yield client


@pytest.fixture
async def ask(daemon: Daemon) -> AsyncIterator[Asker]:
    """Calls the tools of a server that was started in no project."""
    async with asker(daemon) as found:
        yield found
