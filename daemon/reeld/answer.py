"""How a task waits for a callback."""

from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Answer(Generic[T]):
    """The outcome of work, for the one task that waits for it.

    Whoever does the work calls :meth:`take` in the event loop's thread; another thread does so by way of
    :meth:`reeld.poller.Poller.call_soon`. A task that is cancelled abandons the outcome, never the work.
    """

    __slots__ = ("_arrival", "_has_arrived", "_outcome")

    def __init__(self) -> None:
        self._has_arrived = False
        self._outcome: T | BaseException | None = None
        # Set when it arrives, if somebody waits by then.
        self._arrival: anyio.Event | None = None

    def take(self, outcome: T | BaseException) -> None:
        """Take the result or the error."""
        self._outcome, self._has_arrived = outcome, True
        if self._arrival is not None:
            self._arrival.set()

    async def wait(self) -> T:
        """Wait for the outcome, if it is not there yet; return the result, or raise the error.

        An agent in memory answers a question before this is called. To go through the event loop all the same would
        take a fifth of a short read.
        """
        if not self._has_arrived:
            self._arrival = anyio.Event()
            await self._arrival.wait()
        outcome, self._outcome = self._outcome, None
        if not isinstance(outcome, BaseException):
            return outcome  # type: ignore[return-value]  # it has arrived
        try:
            raise outcome
        finally:
            del outcome  # its traceback refers to this frame: a cycle would keep both in memory
