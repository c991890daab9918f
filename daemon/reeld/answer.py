"""How a task waits for a callback."""

from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Answer(Generic[T]):
    """The outcome of work, for the one task that waits for it.

    Whoever does the work calls :meth:`take` in the event loop's thread; another thread does so by way of
    :meth:`reeld.poller.Poller.call_soon`. A task that is cancelled abandons the outcome, never the work.
    """

    __slots__ = ("_arrived", "_outcome")

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._outcome: T | BaseException | None = None

    def take(self, outcome: T | BaseException) -> None:
        """Take the result or the error."""
        self._outcome = outcome
        self._arrived.set()

    async def wait(self) -> T:
        """Wait for the outcome; return the result, or raise the error."""
        await self._arrived.wait()
        outcome, self._outcome = self._outcome, None
        if not isinstance(outcome, BaseException):
            return outcome  # type: ignore[return-value]  # it has arrived
        try:
            raise outcome
        finally:
            del outcome  # its traceback refers to this frame: a cycle would keep both in memory
