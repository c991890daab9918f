"""Both clients of one daemon, on every event loop."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

import reel
from tests.daemon import Daemon, short_directory
from tests.patience import PATIENCE
from tests.reel.conformance.scenarios import Run, Scenario, _Awaited


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that runs for the whole module."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture(params=["blocking", "trio", "asyncio"])
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""

    async def blocking(scenario: Scenario) -> Any:
        with daemon.client() as client:
            return await scenario(_Awaited(client))

    async def concurrent(scenario: Scenario) -> Any:
        with anyio.fail_after(PATIENCE):
            async with reel.aio.connect(daemon.socket) as client:
                return await scenario(client)

    kind = request.param
    return lambda scenario: anyio.run(
        blocking if kind == "blocking" else concurrent, scenario, backend="trio" if kind == "blocking" else kind
    )
