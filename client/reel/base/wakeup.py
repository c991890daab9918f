"""Wakes a task when there is work for it; uses anyio, so nothing that ``import reel`` loads may import this."""

import anyio


class Signal:
    """Wakes the one task that waits for it, however often it has been set.

    Theory of operation. A task that works off a queue, or anything else that others add to, runs::

        while True:
            await signal.wait()
            ...  # take everything that there is

    and the others call :meth:`set` *after* they added something. ``wait`` resets the signal before it returns, and so
    before the task looks at the work. Anything that is added later sets it again, and the next ``wait`` returns at
    once. If it was reset after the work, it would swallow what was added in between, and the task would sleep although
    there is work. The price is an occasional turn of the loop that finds nothing to do.

    Setting it many times wakes the task once. Setting it before anybody waits is remembered. A cancelled ``wait`` does
    not reset it. Only one task may wait: of two, the second would reset the signal that was set for both.

    Not thread-safe: set it from the event loop's thread.
    """

    def __init__(self) -> None:
        self._event = anyio.Event()
        # Setting an event costs three calls, and filling a queue sets its signal once for each item.
        self._is_set = False

    def set(self) -> None:
        """Wake the task that waits, or the next one that will."""
        if not self._is_set:
            self._is_set = True
            self._event.set()

    async def wait(self) -> None:
        """Wait until the signal is set, and reset it."""
        await self._event.wait()
        self._event = anyio.Event()
        self._is_set = False
