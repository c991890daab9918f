"""A daemon that the tests of a module share; a ``conftest`` imports the fixture."""

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon
from tests.forkserver import running_daemon

# The bytes of a request, where a test sends more than fits into one: a quarter of what a daemon takes by itself.
REQUEST = 4 << 20


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that runs for the whole module."""
    with running_daemon() as daemon:
        yield daemon
