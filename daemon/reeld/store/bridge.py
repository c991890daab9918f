"""The bridge between the daemon's trio loop and the asyncio loop that aiosqlite needs.

The asyncio loop runs in a thread of its own. A call goes out with ``call_soon_threadsafe`` and comes back with
``TrioToken.run_sync_soon``: neither blocks, and no worker thread sits in between. A cancelled caller gives up
the answer, never the work: a cancelled aiosqlite call would leave its transaction open.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar

import trio

T = TypeVar("T")
P = ParamSpec("P")


class Answer(Generic[T]):
    """Where an outcome arrives, on the trio side; it may be given on any thread, and the first one counts."""

    __slots__ = ("_arrived", "_error", "_given", "_token", "_value")

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self._token = token
        self._arrived = trio.Event()
        self._given = False
        self._value: T | None = None
        self._error: BaseException | None = None

    def give(self, value: T) -> None:
        """Hand over a result."""
        if not self._given:
            self._value = value
            self._arrive()

    def fail(self, error: BaseException) -> None:
        """Hand over an error."""
        if not self._given:
            self._error = error
            self._arrive()

    def _arrive(self) -> None:
        self._given = True
        with suppress(trio.RunFinishedError):  # nobody is left to be told
            self._token.run_sync_soon(self._arrived.set)

    async def wait(self) -> T:
        """Wait for the outcome; a cancelled caller gives it up."""
        await self._arrived.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # given together with the arrival


class AsyncioBridge:
    """An asyncio loop that can be called from trio; see :func:`open_bridge`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, token: trio.lowlevel.TrioToken) -> None:
        self._loop = loop
        self._token = token
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self) -> Answer[Any]:
        """Make a place where an outcome can arrive."""
        return Answer(self._token)

    def begin(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run an async function on the asyncio side; what becomes of it is its own affair."""

        def begin() -> None:
            task = self._loop.create_task(function())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(begin)

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function on the asyncio side and give what it returns or raises."""
        answer: Answer[T] = self.answer()

        async def run() -> None:
            try:
                answer.give(await function(*args, **kwargs))
            except BaseException as error:
                answer.fail(error)

        self.begin(run)
        return await answer.wait()


@asynccontextmanager
async def open_bridge() -> AsyncIterator[AsyncioBridge]:
    """Run an asyncio loop in a thread for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="reeld-asyncio")
    thread.start()
    try:
        yield AsyncioBridge(loop, trio.lowlevel.current_trio_token())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
