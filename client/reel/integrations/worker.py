"""A blocking client for async programs with any event loop: calls run in a thread, one after the other."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from reel.base.errors import Timeout
from reel.sync.client import Client

R = TypeVar("R")

# Seconds after which a request times out and the daemon counts as hanging. Purging an agent from a file with ten
# million events takes fifteen.
_LIMIT = 60.0
# How long a cancelled call may take, in seconds: as long as a restart of the daemon.
_SETTLES_WITHIN = 10.0


class _Call(Generic[R]):
    """A call for the thread.

    An executor's futures, awaited by ``asyncio.wait``, cost 80 us more per call, a tenth of an add.

    Args:
        work: the function to call.
        client: its argument.
    """

    def __init__(self, work: Callable[[Client], R], client: Client) -> None:
        self.is_over = False
        # Called once it is over, in the thread.
        self.on_end: Callable[[], object] = int
        self._work = work
        self._client = client
        # Whoever acquires it first carries the call out, or withdraws it.
        self._taken = threading.Lock()
        self._result: R | None = None
        self._error: BaseException | None = None

    def carry_out(self, before_end: Callable[[], object]) -> None:
        """Call it, unless it was withdrawn.

        Args:
            before_end: called before anybody learns that it is over.
        """
        if not self._taken.acquire(blocking=False):
            before_end()
            return
        try:
            self._result = self._work(self._client)
        except BaseException as error:
            self._error = error
        before_end()
        self.is_over = True
        self.on_end()

    def withdraw(self) -> bool:
        """Withdraw the call; return whether that succeeded."""
        return self._taken.acquire(blocking=False)

    @property
    def result(self) -> R:
        """What the call returned; its error is raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # it may be None by itself

    @property
    def why_not_done(self) -> BaseException | None:
        """The reason why a cancelled call failed or is not over; ``None`` if it is done."""
        if self.is_over:
            return self._error
        if self.withdraw():
            return Timeout("the calls before it took too long; it was not carried out", seconds=_SETTLES_WITHIN)
        late = f"it took {_SETTLES_WITHIN:g} s longer than the cancellation; it may still be carried out"
        return Timeout(late, seconds=_SETTLES_WITHIN)


class _Calls:
    """The calls for the thread, in their order."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        # How many were put and are not over. The lock is for it, and for what is done without the thread.
        self._under_way = 0
        self._lock = threading.Lock()

    def put(self, call: _Call[Any]) -> None:
        """Let the thread carry out a call."""
        with self._lock:
            self._under_way += 1
        self._queue.put(call)

    def end(self) -> None:
        """Let the thread end."""
        self._queue.put(None)

    def carry_out_all(self) -> None:
        """Carry out calls until the end."""
        while (call := self._queue.get()) is not None:
            call.carry_out(self._note_end)
            del call  # otherwise it would be kept until the next one comes

    def _note_end(self) -> None:
        with self._lock:
            self._under_way -= 1

    def at_once(self, work: Callable[[], R | None]) -> R | None:
        """Return what a function returns that is called here, or ``None`` if any call is under way."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return None if self._under_way else work()
        finally:
            self._lock.release()


class Worker:
    """A client whose calls are awaited, from any event loop, without a task group of the caller.

    :class:`reel.aio.Client` belongs to the task group in which it was opened. A session of a framework has none: it is
    created outside of a loop, and may be used in several loops in turn.

    A request that takes longer than a minute raises :class:`reel.Timeout`. If a daemon was on the socket before, even
    the first call waits for its restart.

    Args:
        socket: the socket. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        name: the name of this client, which the daemon stores with its events.
    """

    def __init__(self, socket: str | None, *, autostart: bool, name: str) -> None:
        self._options = (socket, autostart, name)
        self._process = os.getpid()
        self._client = self._new()
        # The calls for the thread, which begins with the first one.
        self._calls: _Calls | None = None
        self._beginning = threading.Lock()

    def _new(self) -> Client:
        socket, autostart, name = self._options
        return Client(socket, autostart=autostart, timeout=_LIMIT, name=name, awaits_restart=True)

    def _thread(self) -> _Calls:
        """Return the queue of the thread; the thread ends with this object."""
        with self._beginning:
            if self._calls is None:
                self._calls = _Calls()
                weakref.finalize(self, self._calls.end)
                # Not joined at exit: nobody awaits the remaining calls by then.
                threading.Thread(target=self._calls.carry_out_all, name="reel", daemon=True).start()
            return self._calls

    async def run(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the thread, in the order of the calls, and return what it returns.

        A cancellation is raised once the function is done: its effect is not in doubt, and no later call overtakes it.
        If the function failed, its error is the cause of the cancellation. If it takes longer than ten more seconds,
        the cause is a :class:`reel.Timeout`, which says whether it may still be carried out.
        """
        call = _Call(work, self._own())
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return await _on_trio(call, self._thread())
        return await _on_asyncio(call, self._thread(), loop)

    def at_once(self, work: Callable[[Client], R | None]) -> R | None:
        """Return what a function returns that asks the daemon nothing, without the thread, which would cost more.

        Args:
            work: the function; called in the calling thread, unless calls are under way that it would overtake.

        Returns:
            what it returns; ``None`` if it was not called, and the thread is to be used.
        """
        client = self._own()
        return None if self._calls is None else self._calls.at_once(lambda: work(client))

    def run_here(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the calling thread, and return what it returns."""
        return work(self._own())

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._own().close()

    def _own(self) -> Client:
        """Return this process's client; after a fork, the parent's connection is the parent's."""
        if self._process != os.getpid():
            self._beginning = threading.Lock()  # the parent may have held it
            self._client, self._calls, self._process = self._new(), None, os.getpid()
        return self._client


async def _on_asyncio(call: _Call[R], thread: _Calls, loop: asyncio.AbstractEventLoop) -> R:
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def on_end() -> None:
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(wake)

    call.on_end = on_end
    thread.put(call)
    try:
        await waiter
    except asyncio.CancelledError as error:
        cancelled = error
    else:
        return call.result
    until = loop.time() + _SETTLES_WITHIN
    while not call.is_over and (left := until - loop.time()) > 0:
        waiter = loop.create_future()
        try:
            await asyncio.wait([waiter], timeout=left)
        except asyncio.CancelledError:
            continue
    raise cancelled from call.why_not_done


async def _on_trio(call: _Call[R], thread: _Calls) -> R:
    from anyio import CancelScope, get_cancelled_exc_class, lowlevel, to_thread  # noqa: PLC0415 - not needed with asyncio

    ended = threading.Event()
    call.on_end = ended.set
    thread.put(call)
    try:
        await to_thread.run_sync(ended.wait, abandon_on_cancel=True)
        await lowlevel.checkpoint_if_cancelled()
    except get_cancelled_exc_class() as cancelled:
        with CancelScope(shield=True):
            await to_thread.run_sync(ended.wait, _SETTLES_WITHIN)
        raise cancelled from call.why_not_done
    return call.result
