"""What wakes the daemon: one task that waits for all sockets and for the worker threads.

If each connection had a task that waits for its own socket, every request would cost an epoll_ctl, a wake-up and a part
of a turn of the event loop. Here the sockets stay registered. All sockets that are readable in one turn are read in it,
as one batch (:mod:`reeld.core.batch`), so that the requests of many clients share a commit. Results of other threads
arrive the same way and are handled first, so that the next commit begins before anything else.

A function that is called from here must neither wait nor fail: an exception ends the daemon.
"""

import os
import selectors
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from weakref import finalize

import anyio
from trio.lowlevel import wait_readable  # anyio's finds out what runs it each time, which takes 2 us of each turn

from reeld.core.batch import Batch

# Bytes of the pipe that are read at once; more than one is rare.
_WAKES = 64


class Poller:
    """Calls functions in the event loop's thread; see :func:`open_poller`."""

    def __init__(self) -> None:
        # The batch of everything that is called in one turn.
        self.batch = Batch()
        self._selector = selectors.DefaultSelector()
        self._calls: deque[tuple[Callable[[Any], None], Any]] = deque()
        # Whether the wake-up pipe has a byte, or is about to have one.
        self._is_awake = False
        self._read_end, self._write_end = os.pipe()
        # Not before: a thread that was about to write when the poller was closed would write into another file, which
        # got the same descriptor.
        finalize(self, os.close, self._write_end)
        os.set_blocking(self._read_end, False)
        self._selector.register(self._read_end, selectors.EVENT_READ, self._run_calls)
        # Shielded: clean-up after a cancellation still waits for threads.
        self._running = anyio.CancelScope(shield=True)

    def call_soon(self, function: Callable[[Any], None], value: Any) -> None:
        """Call a function with a value in the event loop's thread; may be used from any thread.

        It is not called after the end of the block.
        """
        self._calls.append((function, value))
        if not self._is_awake:
            self._is_awake = True
            with suppress(BrokenPipeError):  # it was closed meanwhile
                os.write(self._write_end, b"\0")

    @contextmanager
    def reading(self, source: socket.socket, on_readable: Callable[[], None]) -> Iterator[None]:
        """Call a function whenever a socket can be read, or its peer is gone, until the block ends."""
        self._selector.register(source, selectors.EVENT_READ, on_readable)
        try:
            yield
        finally:
            self.forget(source)

    def forget(self, source: socket.socket) -> None:
        """Stop watching a socket."""
        with suppress(KeyError):
            self._selector.unregister(source)

    async def run(self) -> None:
        """Call functions until :meth:`stop`."""
        watched = self._selector.fileno()
        with self._running:
            while True:
                await wait_readable(watched)
                with self.batch:
                    self._call_ready()

    def _call_ready(self) -> None:
        # In a function of its own, whose variables do not keep the last connection until the next turn.
        for key, _ in self._selector.select(0):
            key.data()

    def stop(self) -> None:
        """Call nothing any more."""
        self._running.cancel()

    def _run_calls(self) -> None:
        """Make the calls that other threads asked for."""
        os.read(self._read_end, _WAKES)
        # First, so that a call which comes too late for this round wakes the next one.
        self._is_awake = False
        calls = self._calls
        for _ in range(len(calls)):  # calls that these make are for the next round, after the sockets
            function, value = calls.popleft()
            function(value)

    def close(self) -> None:
        """Close the descriptors, except for the one that threads may be writing to."""
        self._is_awake = True  # nobody is to be woken any more
        self._selector.close()
        os.close(self._read_end)


@asynccontextmanager
async def open_poller() -> AsyncIterator[Poller]:
    """Call functions until the block ends. An error in the block is raised as it is, not in an exception group."""
    poller = Poller()
    errors: list[Exception] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poller.run)
            try:
                yield poller
            except Exception as error:
                errors.append(error)
            finally:
                poller.stop()
    finally:
        poller.close()
    if errors:
        raise errors.pop()  # an error in the list would keep alive the frames that refer to the list
