"""A blocking client for async programs with any event loop: calls are carried out one after the other."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from reel.base.errors import Timeout
from reel.requests import Call as ToCall
from reel.requests import with_idempotency_key
from reel.sync.client import Client
from reel.sync.exchange import Exchange

R = TypeVar("R")
T = TypeVar("T")

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


class _Begun(_Call[R]):
    """A call whose request has been sent: nobody can withdraw it.

    Args:
        work: the function to call, once the exchange is over or in the thread.
        client: its first argument.
        exchange: its second argument.
    """

    def __init__(self, work: Callable[[Client, Exchange], R], client: Client, exchange: Exchange) -> None:
        super().__init__(lambda client: work(client, exchange), client)
        self.exchange = exchange

    def withdraw(self) -> bool:
        """Return ``False``."""
        return False


class _Calls:
    """The calls for the thread, in their order, and the one that an event loop carries out instead.

    A loop does so only as long as there is no other call: its thread may wait for another one, or be busy.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        # How many were put or begun and are not over. The lock is for this, and for what is done without the thread.
        self._under_way = 0
        self._lock = threading.Lock()
        # The call that a loop carries out.
        self._begun: _Begun[Any] | None = None

    def put(self, call: _Call[Any]) -> None:
        """Let the thread carry out a call."""
        with self._lock:
            self._under_way += 1
            self._hand_over()
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
            self._count_down()

    def _count_down(self) -> None:
        self._under_way -= 1

    def begin(self, client: Client, request: ToCall[Any], work: Callable[[Client, Exchange], R]) -> _Begun[R] | None:
        """Send a request and return the call that waits for the reply; ``None`` if any call is under way."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            exchange = None if self._under_way else client.begin(request)
            if exchange is None:
                return None
            begun = self._begun = _Begun(work, client, exchange)
            self._under_way = 1
            if not exchange.is_sent:
                self._hand_over()
            return begun
        finally:
            self._lock.release()

    def read(self, begun: _Begun[Any]) -> bool:
        """Read what has arrived for a call, which is then carried out; return whether the loop has to wait for more."""
        with self._lock:
            if self._begun is not begun:
                return False
            if not begun.exchange.read():
                return True
            if begun.exchange.is_answered:
                self._begun = None
                begun.carry_out(self._count_down)
            else:
                self._hand_over()
            return False

    def hand_over(self, begun: _Begun[Any] | None = None) -> None:
        """Let the thread carry out the call that a loop has begun: this one, or by default any."""
        with self._lock:
            if begun is None or self._begun is begun:
                self._hand_over()

    def _hand_over(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            self._queue.put(begun)

    def close(self, client: Client) -> None:
        """Close the connection of a client, after the calls that are under way."""
        with self._lock:
            is_free = not self._under_way
        if is_free:
            client.close()
        else:
            self.put(_Call(Client.close, client))

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
        loop = _running_loop()
        if loop is None:
            return await _on_trio(call, self._thread())
        return await _on_asyncio(call, self._thread().put, loop)

    async def ask(
        self,
        call: ToCall[T],
        then: Callable[[Client, T], R],
        otherwise: Callable[[Client, ToCall[T]], R] | None = None,
    ) -> R:
        """Send one request, and return what a function makes of the reply, in the order of the calls.

        With asyncio the event loop awaits the reply, unless there are other calls: a thread would cost two more
        wake-ups. A cancellation is raised as by :meth:`run`.

        Args:
            call: the request.
            then: called with the client and the reply before any later call is carried out. It asks the daemon nothing.
            otherwise: what the thread does with the client and the request if the loop cannot await the reply, if the
                connection was lost, or if the request was refused. Default: it asks, and calls ``then``.
        """
        call, client = with_idempotency_key(call), self._own()

        def in_thread(client: Client) -> R:
            return then(client, client.call(call)) if otherwise is None else otherwise(client, call)

        def finish(client: Client, exchange: Exchange) -> R:
            exchange.wait()
            return then(client, exchange.result) if exchange.is_answered else in_thread(client)

        loop, calls = _running_loop(), self._calls
        if loop is None or calls is None or call.steps is not None:
            return await self.run(in_thread)
        begun = calls.begin(client, call, finish)
        if begun is None:
            return await self.run(in_thread)
        watch = _Watch(begun, calls, loop)
        try:
            return await _on_asyncio(begun, watch.begin, loop)
        finally:
            watch.end()

    async def at_once(self, work: Callable[[Client], R | None]) -> R | None:
        """Return what a function returns that asks the daemon nothing, without the thread, which would cost more.

        Others have a turn before it returns something: a program that repeats it holds up no event loop, and can be
        cancelled.

        Args:
            work: the function; called in the calling thread, unless calls are under way that it would overtake.

        Returns:
            what it returns; ``None`` if it was not called, and the thread is to be used.
        """
        client = self._own()
        found = None if self._calls is None else self._calls.at_once(lambda: work(client))
        if found is not None:
            await _give_way()
        return found

    def run_here(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the calling thread, and return what it returns."""
        client = self._own()
        if self._calls is not None:
            self._calls.hand_over()  # the loop that awaits a reply may run in this thread
        return work(client)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        client = self._own()
        if self._calls is None:
            client.close()
        else:
            self._calls.close(client)

    def _own(self) -> Client:
        """Return this process's client; after a fork, the parent's connection is the parent's."""
        if self._process != os.getpid():
            self._beginning = threading.Lock()  # the parent may have held it
            self._client, self._calls, self._process = self._new(), None, os.getpid()
        return self._client


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return asyncio's loop; ``None`` if the program runs with trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _give_way() -> None:
    """Let others have a turn."""
    if _running_loop() is None:
        from anyio import lowlevel  # noqa: PLC0415 - not needed with asyncio

        await lowlevel.checkpoint()
    else:
        await asyncio.sleep(0)


class _Watch:
    """Lets a loop carry out a call as soon as the reply is there.

    The thread does it if the loop cannot, if it takes too long, and if nobody waits for it any more.

    Args:
        begun: the call.
        calls: where the thread takes it from.
        loop: the loop.
    """

    def __init__(self, begun: _Begun[Any], calls: _Calls, loop: asyncio.AbstractEventLoop) -> None:
        self._begun = begun
        self._calls = calls
        self._loop = loop
        # The thread says that it took too long.
        self._late = loop.call_later(_LIMIT, calls.hand_over, begun)
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


async def _on_asyncio(call: _Call[R], put: Callable[[_Call[R]], object], loop: asyncio.AbstractEventLoop) -> R:
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
        if _running_loop() is loop:
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
