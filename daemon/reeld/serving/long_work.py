"""Long computations, and how they run without keeping other clients waiting."""

from collections.abc import Callable
from typing import TypeVar

import anyio

T = TypeVar("T")
# Commands with many rows at once. 60,000 messages of a letter, a request of 120 KB, take 40 MB until they are written.
_AT_ONCE = 2
# Stretches of a log of up to a megabyte that are read, and not written yet.
_PREPARED = 8


class LongWork:
    """Runs computations that take milliseconds, one at a time."""

    def __init__(self) -> None:
        # One thread at a time: each computing thread takes a share of the event loop's time under the GIL.
        self._thread = anyio.CapacityLimiter(1)
        self._turn = anyio.Lock()
        # Held by each command with many rows from before these are read until it is answered; the others wait.
        self.many_rows = anyio.CapacityLimiter(_AT_ONCE)

        # Held by each stretch that is read while earlier ones are written, until it has been answered.
        self.prepared = anyio.CapacityLimiter(_PREPARED)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run a computation in a thread, and wait for it."""
        return await anyio.to_thread.run_sync(work, limiter=self._thread)

    async def in_turn(self, work: Callable[[], T]) -> T:
        """Run a computation in a turn of the event loop that has no other one.

        That suits a page of messages in memory: it takes a few milliseconds, and a thread would take as many from the
        event loop. Ten readers of 10,000 messages each would otherwise fill one turn with 30 ms.
        """
        async with self._turn:  # taking it costs a turn, so the next computation is in a later one
            return work()
