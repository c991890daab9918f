"""Scenarios that run with either client."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

from reel.sync.client import Client

Scenario: TypeAlias = Callable[[Any], Awaitable[Any]]
Run: TypeAlias = Callable[[Scenario], Any]


class _Awaited:
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
