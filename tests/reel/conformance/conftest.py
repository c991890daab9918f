"""Both clients of one daemon, on every event loop."""

import pytest

from tests.daemon import Daemon
from tests.reel.both_clients import CLIENTS, Awaited, Run, runner


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""
    return runner(request.param, daemon, Awaited)
