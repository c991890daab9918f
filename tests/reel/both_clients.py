"""Scenarios that run with either client, on every event loop."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeAlias

import anyio

import reel
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

CLIENTS = ["blocking", "trio", "asyncio"]

# A scenario gets a client with the interface of the async one.
Scenario: TypeAlias = Callable[[Any], Awaitable[Any]]


class Run(Protocol):
    """Run a scenario with a client that tries to reconnect for so long, and return what it returns."""

    def __call__(self, scenario: Scenario, patience: float = PATIENCE) -> Any: ...


def runner(
    name: str,
    daemon: Daemon,
    blocking: Callable[[Client], Any],
    concurrent: Callable[[reel.aio.Client], Any] = lambda client: client,
) -> Run:
    """Return what runs a scenario with one of the clients.

    Args:
        name: which one, of ``CLIENTS``.
        daemon: to which the client connects.
        blocking: gives the blocking client the interface that the scenario expects.
        concurrent: does the same for the async client.
    """

    def run(scenario: Scenario, patience: float = PATIENCE) -> Any:
        async def run_blocking() -> Any:
            with anyio.fail_after(PATIENCE), Client(daemon.socket, patience=patience).connect() as client:
                return await scenario(blocking(client))

        async def run_concurrent() -> Any:
            with anyio.fail_after(PATIENCE):
                async with reel.aio.connect(daemon.socket, patience=patience) as client:
                    return await scenario(concurrent(client))

        if name == "blocking":
            return anyio.run(run_blocking, backend="trio")
        return anyio.run(run_concurrent, backend=name)

    return run


class Awaited:
    """The blocking client with the async client's interface."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name.startswith("iter_"):
            return lambda *args, **kwargs: _each(method(*args, **kwargs))

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


async def _each(items: Iterator[Any]) -> Any:
    for item in items:
        yield item
