"""A blocking client for async programs with any event loop: calls are carried out one after the other."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from reel.integrations import awaiting
from reel.integrations.awaiting import Watch, give_way, on_asyncio, on_trio, running_loop
from reel.integrations.queued_calls import CallQueue, QueuedCall
from reel.requests import Call, with_idempotency_key
from reel.sync.client import Client
from reel.sync.exchange import Exchange

R = TypeVar("R")
T = TypeVar("T")


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
        self._calls: CallQueue | None = None
        self._beginning = threading.Lock()

    def _new(self) -> Client:
        socket, autostart, name = self._options
        return Client(socket, autostart=autostart, timeout=awaiting.LIMIT, name=name, awaits_restart=True)

    def _thread(self) -> CallQueue:
        """Return the queue of the thread; the thread ends with this object."""
        with self._beginning:
            if self._calls is None:
                self._calls = CallQueue()
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
        call = QueuedCall(work, self._own())
        loop = running_loop()
        if loop is None:
            return await on_trio(call, self._thread())
        return await on_asyncio(call, self._thread().put, loop)

    async def ask(
        self,
        call: Call[T],
        then: Callable[[Client, T], R],
        otherwise: Callable[[Client, Call[T]], R] | None = None,
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

        loop, calls = running_loop(), self._calls
        if loop is None or calls is None or call.steps is not None:
            return await self.run(in_thread)
        begun = calls.begin(client, call, finish)
        if begun is None:
            return await self.run(in_thread)
        watch = Watch(begun, calls, loop)
        try:
            return await on_asyncio(begun, watch.begin, loop)
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
            await give_way()
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
