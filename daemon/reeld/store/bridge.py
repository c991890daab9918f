"""The bridge between the daemon's trio loop and the asyncio loop that aiosqlite needs.

The asyncio loop runs in a thread of its own. A call goes out with ``call_soon_threadsafe`` and comes back through the
poller. Neither blocks, and no worker thread is involved: a round trip takes 84 us, while ``BlockingPortal.call`` in a
worker thread takes 235. trio's guest mode and trio-asyncio would run both loops in one thread, where SQLite's callbacks
could delay connections.

A cancelled caller abandons the outcome, never the work: a cancelled aiosqlite call would leave its transaction open.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar

import anyio

from reeld.poller import Poller, open_poller

T = TypeVar("T")
P = ParamSpec("P")


class Future(Generic[T]):
    """A future that is awaited in trio and may be set from any thread; only the first outcome counts."""

    __slots__ = ("_arrived", "_error", "_is_set", "_poller", "_value")

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._arrived = anyio.Event()
        self._is_set = False
        self._value: T | None = None
        self._error: BaseException | None = None

    def set_result(self, value: T) -> None:
        """Set the result."""
        if not self._is_set:
            self._value = value
            self._announce()

    def set_error(self, error: BaseException) -> None:
        """Set the error."""
        if not self._is_set:
            self._error = error
            self._announce()

    def _announce(self) -> None:
        self._is_set = True
        self._poller.call_soon(Future._arrive, self)

    def _arrive(self) -> None:
        self._arrived.set()

    async def wait(self) -> T:
        """Wait for the outcome; a cancelled caller abandons it."""
        await self._arrived.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is set before the arrival


class Callback(Generic[T]):
    """Takes an outcome like a :class:`Future`, and passes it to a function in trio's thread.

    Nothing awaits it, so no task is woken. The function gets the result or the error, and must not raise.
    """

    __slots__ = ("_function", "_poller")

    def __init__(self, poller: Poller, function: Callable[[T | BaseException], None]) -> None:
        self._poller = poller
        self._function = function

    def set_result(self, value: T) -> None:
        """Call the function with the result."""
        self._poller.call_soon(self._function, value)

    def set_error(self, error: BaseException) -> None:
        """Call the function with the error."""
        self._poller.call_soon(self._function, error)


class AsyncioBridge:
    """An asyncio loop that can be called from trio; see :func:`open_bridge`.

    Args:
        loop: the asyncio loop, which runs in another thread.
        poller: delivers the outcomes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, poller: Poller) -> None:
        self.poller = poller
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()

    def future(self) -> Future[Any]:
        """Return a new future."""
        return Future(self.poller)

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start an async function on the asyncio side without waiting for it."""

        def start() -> None:
            task = self._loop.create_task(function())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(start)

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function on the asyncio side; return its result or raise its error."""
        future: Future[T] = self.future()

        async def run() -> None:
            try:
                future.set_result(await function(*args, **kwargs))
            except BaseException as error:
                future.set_error(error)

        self.spawn(run)
        return await future.wait()


@asynccontextmanager
async def open_bridge() -> AsyncIterator[AsyncioBridge]:
    """Run an asyncio loop in a thread until the block ends."""
    async with open_poller() as poller:
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, name="reeld-asyncio")
        thread.start()
        try:
            yield AsyncioBridge(loop, poller)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
