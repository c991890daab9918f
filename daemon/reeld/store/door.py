"""The door between the daemon's trio loop and the asyncio loop that aiosqlite needs.

The asyncio loop runs in a thread of its own. A call goes out with ``call_soon_threadsafe`` and comes back with
``TrioToken.run_sync_soon``: neither blocks, and no worker thread sits in between. A cancelled caller gives up
the answer, never the work: a cancelled aiosqlite call would leave its transaction open.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Generic, ParamSpec, TypeVar

import trio

T = TypeVar("T")
P = ParamSpec("P")


class _Answer(Generic[T]):
    """Where a call's outcome arrives, on the trio side."""

    __slots__ = ("arrived", "error", "value")

    def __init__(self) -> None:
        self.arrived = trio.Event()
        self.value: T | None = None
        self.error: BaseException | None = None

    def unwrap(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # set by whoever set the event


class Door:
    """An asyncio loop that can be called from trio; see :func:`open_door`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, token: trio.lowlevel.TrioToken) -> None:
        self._loop = loop
        self._token = token
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function on the asyncio side and give what it returns or raises."""
        answer: _Answer[T] = _Answer()

        async def run() -> None:
            try:
                answer.value = await function(*args, **kwargs)
            except BaseException as error:
                answer.error = error
            with suppress(trio.RunFinishedError):  # nobody is left to be told
                self._token.run_sync_soon(answer.arrived.set)

        def begin() -> None:
            task = self._loop.create_task(run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(begin)
        await answer.arrived.wait()
        return answer.unwrap()


@asynccontextmanager
async def open_door() -> AsyncIterator[Door]:
    """Run an asyncio loop in a thread for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="reeld-asyncio")
    thread.start()
    try:
        yield Door(loop, trio.lowlevel.current_trio_token())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
