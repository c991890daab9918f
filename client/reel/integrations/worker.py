"""A blocking client for async programs, whatever runs them: calls run in a thread, one after the other."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from reel.sync.client import Client

R = TypeVar("R")


class Worker:
    """A client whose calls are awaited, from any event loop, and without a task group of the caller's.

    :class:`reel.aio.Client` belongs to the task group that it was opened in. A session of a framework has none: it is
    made outside of a loop, and may be used in one loop after the other.

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
        return Client(socket, autostart=autostart, name=name), ThreadPoolExecutor(1, "reel")

    async def run(self, work: Callable[[Client], R]) -> R:
        """Run a function with the client in the thread, in the order of the calls, and return what it returns.

        A cancellation is raised when the function is done: what it did is not in doubt, and nothing that comes after
        overtakes it. If the function failed, its error is the cause of the cancellation.
        """
        client = self._own()
        submitted = self._thread.submit(work, client)
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # it is trio
            from anyio import CancelScope, lowlevel, to_thread  # noqa: PLC0415 - programs on asyncio need no anyio

            with CancelScope(shield=True):
                result = await to_thread.run_sync(submitted.result)
            await lowlevel.checkpoint_if_cancelled()
            return result
        running = asyncio.wrap_future(submitted)
        cancelled = None
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
        if cancelled is not None:
            raise cancelled from running.exception()
        return running.result()

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
