"""The bridge between the daemon's trio loop and the asyncio loop that aiosqlite needs.

The asyncio loop runs in a thread of its own. A call goes out with ``call_soon_threadsafe`` and comes back with
``TrioToken.run_sync_soon``. Neither blocks, and no worker thread is involved: there and back takes 84 us, where
``BlockingPortal.call`` in a worker thread takes 235. trio's guest mode and trio-asyncio would put both loops into one
thread, and so let SQLite's callbacks delay connections.

A cancelled caller abandons the outcome, never the work: a cancelled aiosqlite call would leave its transaction open.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar

import trio

T = TypeVar("T")
P = ParamSpec("P")


class Future(Generic[T]):
    """A future that is awaited in trio and may be set from any thread; only the first outcome counts."""

    __slots__ = ("_arrived", "_error", "_is_set", "_token", "_value")

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self._token = token
        self._arrived = trio.Event()
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
        with suppress(trio.RunFinishedError):  # the trio loop has ended, so nobody waits
            self._token.run_sync_soon(self._arrived.set)

    async def wait(self) -> T:
        """Wait for the outcome; a cancelled caller abandons it."""
        await self._arrived.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is set before the arrival


class Callback(Generic[T]):
    """Takes an outcome as a :class:`Future` does, and gives it to a function that is called in trio's thread.

    Nobody waits, so no task is woken. The function gets the result or the error, and must not raise anything.
    """

    __slots__ = ("_function", "_token")

    def __init__(self, token: trio.lowlevel.TrioToken, function: Callable[[T | BaseException], None]) -> None:
        self._token = token
        self._function = function

    def set_result(self, value: T) -> None:
        """Call the function with the result."""
        self._call(value)

    def set_error(self, error: BaseException) -> None:
        """Call the function with the error."""
        self._call(error)

    def _call(self, outcome: T | BaseException) -> None:
        with suppress(trio.RunFinishedError):  # the trio loop has ended, so nobody is interested
            self._token.run_sync_soon(self._function, outcome)


class AsyncioBridge:
    """An asyncio loop that can be called from trio; see :func:`open_bridge`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, token: trio.lowlevel.TrioToken) -> None:
        self._loop = loop
        self._token = token
        self._tasks: set[asyncio.Task[None]] = set()

    def future(self) -> Future[Any]:
        """Return a new future."""
        return Future(self._token)

    def callback(self, function: Callable[[T | BaseException], None]) -> Callback[T]:
        """Return what calls a function with an outcome."""
        return Callback(self._token, function)

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start an async function on the asyncio side, and do not wait for it."""

        def start() -> None:
            task = self._loop.create_task(function())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(start)

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function on the asyncio side; return what it returns, raise what it raises."""
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
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="reeld-asyncio")
    thread.start()
    try:
        yield AsyncioBridge(loop, trio.lowlevel.current_trio_token())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
