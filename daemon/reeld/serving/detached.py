"""Detached calls of one connection: each has a task of its own, and holds up no other call."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from reel.base.errors import Busy
from reeld.serving.call import Call
from reeld.serving.flow import InFlight, Limits, do_nothing

_TOO_MANY = "too many requests of this connection wait for something to happen; let some of them end"


class OnEnd(Protocol):
    """Takes note that a call has ended."""

    def __call__(self, call: Call, *, is_cancelled: bool) -> None:
        """Take note of it; it may have been cancelled, and is then not answered yet."""


class DetachedCalls:
    """The detached calls of a connection.

    Args:
        limits: has how many there may be.
        in_flight: counts the calls that are not detached.
        start_soon: starts a task that ends with the peer; returns whether there is still a peer.
        finish: awaits the rest of a call; an error is its answer.
        on_end: called at the end of each.
    """

    def __init__(
        self,
        limits: Limits,
        in_flight: InFlight,
        start_soon: Callable[..., bool],
        finish: Callable[[Call, Callable[[], Awaitable[None]]], Awaitable[None]],
        on_end: OnEnd,
    ) -> None:
        self._limit = limits.asides
        self._in_flight = in_flight
        self._start_soon = start_soon
        self._finish = finish
        self._on_end = on_end
        self._scopes: set[anyio.CancelScope] = set()

    def __len__(self) -> int:
        return len(self._scopes)

    def start(self, call: Call, rest: Callable[[], Awaitable[None]]) -> None:
        """Detach a call, and await its rest in a task.

        Raises:
            Busy: there are too many.
        """
        if len(self._scopes) >= self._limit:
            raise Busy(_TOO_MANY)
        self._in_flight.remove(call.size)
        call.detached = True
        scope = anyio.CancelScope()
        if self._start_soon(self._run, call, rest, scope):
            self._scopes.add(scope)
        else:
            self._on_end(call, is_cancelled=False)  # nobody waits for the answer

    async def _run(self, call: Call, rest: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        is_cancelled = False
        try:
            with scope:
                await self._finish(call, rest)
            is_cancelled = scope.cancelled_caught
        finally:
            self._scopes.discard(scope)
            self._on_end(call, is_cancelled=is_cancelled)

    def cancel(self) -> None:
        """Cancel all, which are then answered."""
        for scope in self._scopes:
            scope.cancel()

    def clear(self) -> None:
        """Count none any more: they end with the peer."""
        self._scopes.clear()

    def close(self) -> None:
        """Drop the references to the connection."""
        self._start_soon, self._finish, self._on_end = _nobody, _ends, do_nothing


def _nobody(*_: object) -> bool:
    return False


async def _ends(*_: object) -> None:
    """Await nothing: nobody waits for the answer."""
