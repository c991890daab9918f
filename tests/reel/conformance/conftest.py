"""Both clients of one daemon, on every event loop."""

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, short_directory
from tests.reel.both_clients import CLIENTS, Awaited, Run, runner


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that runs for the whole module."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""
    return runner(request.param, daemon, Awaited)
