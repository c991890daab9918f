"""A daemon that tests share."""

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that the tests of a module share."""
    with short_directory() as directory:
        daemon = ForkedDaemon(directory).start()
        yield daemon
        daemon.close()
