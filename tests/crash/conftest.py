"""Fixtures of the crash tests, and statistics at the end of the run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import stats
from tests.crash.crashing_daemon import MODULE, CrashingDaemon
from tests.crash.shim import Shim
from tests.daemon import short_directory
from tests.forkserver import ForkServer


@pytest.fixture(scope="session")
def shim() -> Iterator[Shim]:
    """The shim between SQLite and the disk."""
    with short_directory() as directory:
        yield Shim(directory)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """The fork server of the daemons."""
    with ForkServer(MODULE) as fork_server:
        yield fork_server


@pytest.fixture(scope="session")
def shimmed_fork_server(shim: Shim) -> Iterator[ForkServer]:
    """The fork server of the daemons that run on the shim."""
    with ForkServer(MODULE, shim.environment) as fork_server:
        yield fork_server


@pytest.fixture
def crashing(directory: Path, fork_server: ForkServer) -> Iterator[CrashingDaemon]:
    """A daemon, not started yet, that kills itself at a crash point."""
    daemon = CrashingDaemon(directory, fork_server)
    yield daemon
    daemon.close()


@pytest.fixture
def shimmed(shim: Shim, shimmed_fork_server: ForkServer) -> Iterator[CrashingDaemon]:
    """A daemon, not started yet, that runs on the shim, with its own database."""
    daemon = CrashingDaemon(shim.directory, shimmed_fork_server, f"d{shim.mark()}")
    yield daemon
    shim.calm()
    daemon.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the statistics."""
    if shown := stats.lines():
        terminalreporter.section("crashes")
        for line in shown:
            terminalreporter.write_line(line)
