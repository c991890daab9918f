"""Waits in an event loop until a call was carried out: by the thread of a client, or by the loop itself."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from reel.integrations import queued_calls
from reel.integrations.queued_calls import BegunCall, CallQueue, QueuedCall

R = TypeVar("R")

# Seconds after which a request times out and the daemon counts as hanging. Purging an agent from a file with ten
# million events takes fifteen.
LIMIT = 60.0


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return asyncio's loop; ``None`` if the program runs with trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def give_way() -> None:
    """Let others have a turn."""
    if running_loop() is None:
        from anyio import lowlevel  # noqa: PLC0415 - not needed with asyncio

        await lowlevel.checkpoint()
    else:
        await asyncio.sleep(0)


class Watch:
    """Lets a loop carry out a call as soon as the reply is there.

    The thread does it if the loop cannot, if it takes too long, and if nobody waits for it any more.

    Args:
        begun: the call.
        calls: where the thread takes it from.
        loop: the loop.
    """

    def __init__(self, begun: BegunCall[Any], calls: CallQueue, loop: asyncio.AbstractEventLoop) -> None:
        self._begun = begun
        self._calls = calls
        self._loop = loop
        # The thread says that it took too long.
        self._late = loop.call_later(LIMIT, calls.hand_over, begun)
        # Of its own: the thread may close the connection, and the descriptor become another's, before the loop knows.
        self._descriptor: int | None = None
        self._is_read = False

    def begin(self, _call: object) -> None:
        """Wait for the reply."""
        try:
            self._descriptor = os.dup(self._begun.exchange.fileno())
            self._loop.add_reader(self._descriptor, self._read)
            self._is_read = True
        except (OSError, NotImplementedError):  # there are too many descriptors, or the loop watches none
            self._calls.hand_over(self._begun)

    def end(self) -> None:
        """Wait no longer."""
        self._calls.hand_over(self._begun)
        self._late.cancel()
        self._ignore()
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _read(self) -> None:
        if not self._calls.read(self._begun):
            self._ignore()

    def _ignore(self) -> None:
        if self._is_read and self._descriptor is not None:
            self._is_read = False
            self._loop.remove_reader(self._descriptor)


async def on_asyncio(call: QueuedCall[R], put: Callable[[QueuedCall[R]], object], loop: asyncio.AbstractEventLoop) -> R:
    """Wait until a call was carried out, and return what it returned.

    Args:
        call: the call.
        put: has it carried out.
        loop: the loop that waits.
    """
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def on_end() -> None:
        if running_loop() is loop:
            wake()
        else:
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(wake)

    call.on_end = on_end
    put(call)
    try:
        if not call.is_over:  # as one may be that was begun before
            await waiter
    except asyncio.CancelledError as error:
        cancelled = error
    else:
        return call.result
    until = loop.time() + queued_calls.SETTLES_WITHIN
    while not call.is_over and (left := until - loop.time()) > 0:
        waiter = loop.create_future()
        try:
            await asyncio.wait([waiter], timeout=left)
        except asyncio.CancelledError:
            continue
    raise cancelled from call.why_not_done


async def on_trio(call: QueuedCall[R], thread: CallQueue) -> R:
    """Wait until the thread has carried out a call, and return what it returned.

    Args:
        call: the call.
        thread: the queue of the thread.
    """
    from anyio import CancelScope, get_cancelled_exc_class, lowlevel, to_thread  # noqa: PLC0415 - not needed with asyncio

    ended = threading.Event()
    call.on_end = ended.set
    thread.put(call)
    try:
        await to_thread.run_sync(ended.wait, abandon_on_cancel=True)
        await lowlevel.checkpoint_if_cancelled()
    except get_cancelled_exc_class() as cancelled:
        with CancelScope(shield=True):
            await to_thread.run_sync(ended.wait, queued_calls.SETTLES_WITHIN)
        raise cancelled from call.why_not_done
    return call.result
