"""A blocking client for async programs, whatever runs them: calls run in a thread, one after the other."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from reel.errors import Timeout
from reel.sync.client import Client

R = TypeVar("R")

# How long one request may take, in seconds, until the daemon counts as hanging. To purge an agent of a file of ten
# million events takes fifteen.
_LIMIT = 60.0
# How long a cancelled call may take, in seconds: as long as a restart of the daemon.
_SETTLES_WITHIN = 10.0


class Worker:
    """A client whose calls are awaited, from any event loop, and without a task group of the caller's.

    :class:`reel.aio.Client` belongs to the task group that it was opened in. A session of a framework has none: it is
    made outside of a loop, and may be used in one loop after the other.

    A request that takes longer than a minute raises :class:`reel.Timeout`. If a daemon was on the socket before, also
    the first call waits for its restart.

    Args:
        socket: the socket. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        name: the name of this client, which the daemon stores with its events.
    """

    def __init__(self, socket: str | None, *, autostart: bool, name: str) -> None:
        self._options = (socket, autostart, name)
        self._client, self._thread = self._new()
        self._process = os.getpid()

    def _new(self) -> tuple[Client, ThreadPoolExecutor]:
        socket, autostart, name = self._options
        client = Client(socket, autostart=autostart, timeout=_LIMIT, name=name, awaits_restart=True)
        return client, ThreadPoolExecutor(1, "reel")

    async def run(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the thread, in the order of the calls, and return what it returns.

        A cancellation is raised when the function is done: what it did is not in doubt, and nothing that comes after
        overtakes it. If the function failed, its error is the cause of the cancellation. If it takes longer than ten
        seconds more, the cause is a :class:`reel.Timeout`, which says whether it may still be carried out.
        """
        client = self._own()
        submitted = self._thread.submit(work, client)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return await _on_trio(submitted)
        return await _on_asyncio(submitted)

    def run_here(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the calling thread, and return what it returns."""
        return work(self._own())

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._own().close()

    def _own(self) -> Client:
        """Return this process's client; after a fork, the parent's connection is the parent's."""
        if self._process != os.getpid():
            (self._client, self._thread), self._process = self._new(), os.getpid()
        return self._client


async def _on_asyncio(submitted: Future[R]) -> R:
    running = asyncio.wrap_future(submitted)
    try:
        await asyncio.wait([running])
        return running.result()
    except asyncio.CancelledError as error:
        if running.done():  # both at once
            raise error from _error_of(submitted)
        cancelled = error
    loop = asyncio.get_running_loop()
    until = loop.time() + _SETTLES_WITHIN
    while not running.done() and (left := until - loop.time()) > 0:
        try:
            await asyncio.wait([running], timeout=left)
        except asyncio.CancelledError:
            continue
    # Else asyncio would log an error that comes later.
    running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    raise cancelled from _error_of(submitted)


async def _on_trio(submitted: Future[R]) -> R:
    from anyio import CancelScope, get_cancelled_exc_class, lowlevel, to_thread  # noqa: PLC0415 - asyncio needs it not

    try:
        result = await to_thread.run_sync(submitted.result, abandon_on_cancel=True)
        await lowlevel.checkpoint_if_cancelled()
    except get_cancelled_exc_class() as cancelled:
        with CancelScope(shield=True):
            await to_thread.run_sync(lambda: wait([submitted], _SETTLES_WITHIN))
        raise cancelled from _error_of(submitted)
    return result


def _error_of(submitted: Future[Any]) -> BaseException | None:
    """Return why a cancelled call failed, or that it is not over; ``None`` if it is done."""
    if submitted.cancel():
        return Timeout("the calls before it took too long; it was not carried out", seconds=_SETTLES_WITHIN)
    if not submitted.done():
        late = f"it took {_SETTLES_WITHIN:g} s longer than the cancellation; it may still be carried out"
        return Timeout(late, seconds=_SETTLES_WITHIN)
    return submitted.exception()
