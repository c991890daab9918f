"""A directory of the test's own, and a line of figures at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import tally
from tests.crash.nursery import Doomed, Nursery
from tests.crash.shim import Shim
from tests.daemon import short_directory
from tests.unmeasured import unmeasured  # noqa: F401 - for every test here


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose name is short enough for a socket's path."""
    with short_directory() as path:
        yield path


@pytest.fixture(scope="session")
def shim() -> Iterator[Shim]:
    """The shim between SQLite and the disk."""
    with short_directory() as directory:
        yield Shim(directory)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where daemons come from."""
    with Nursery() as nursery:
        yield nursery


@pytest.fixture(scope="session")
def frail_nursery(shim: Shim) -> Iterator[Nursery]:
    """Where daemons over the shim come from."""
    with Nursery(shim.environment) as nursery:
        yield nursery


@pytest.fixture
def doomed(directory: Path, nursery: Nursery) -> Iterator[Doomed]:
    """A daemon that dies where it is told to; it is not started yet."""
    daemon = Doomed(directory, nursery)
    yield daemon
    daemon.close()


@pytest.fixture
def frail(shim: Shim, frail_nursery: Nursery) -> Iterator[Doomed]:
    """A daemon over the shim; it is not started yet, and has a database of its own."""
    daemon = Doomed(shim.directory, frail_nursery, f"d{shim.mark()}")
    yield daemon
    shim.calm()
    daemon.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was gone through."""
    if shown := tally.lines():
        terminalreporter.section("crashes")
        for line in shown:
            terminalreporter.write_line(line)
