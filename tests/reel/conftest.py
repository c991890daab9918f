"""A daemon that tests share; and Hypothesis has no deadline, so that a slow machine fails no property."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.daemon import Daemon, short_directory

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that the tests of a module share."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()
