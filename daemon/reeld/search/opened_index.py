"""An index that is open: a connection that writes it, and those that read it, each with one to the log."""

import logging
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import anyio

from reel.base.errors import Storage
from reel.touches.describing import Described
from reeld.search import index
from reeld.search.attached_log import OpenLog, close_log
from reeld.search.filler import end_orphans
from reeld.search.texts import Text
from reeld.store.connection_thread import ConnectionThread, Job, T
from reeld.store.store import Store
from reeld.store.sweep import open_descriptor

log = logging.getLogger(__name__)

# Two, so that a search does not wait for one that takes FTS5 long.
_READERS = 2
# Steps of SQLite between two checks whether anybody still waits.
_STEPS = 10_000


class OpenedIndex:
    """The connections to an index, and what became of its file since they were opened.

    Args:
        path: where it is.
        descriptor: of the file, see :class:`reeld.store.sweep.Ground`.
        writer: the writing connection.
        readers: the reading ones.
    """

    def __init__(self, path: str, descriptor: int, writer: ConnectionThread, readers: list[ConnectionThread]) -> None:
        self._path = path
        self._descriptor = descriptor
        self.writer = writer
        self._readers = readers
        # Whether somebody has read that it is damaged.
        self.is_damaged = False
        # Whether the file was removed for an erasure, or must be, so that the open one is no longer the index.
        self.is_abandoned = False

    @property
    def is_displaced(self) -> bool:
        """Whether the open file is no longer the one at its path, which a process would open."""
        try:
            return not os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return True
        except OSError:  # nobody knows; a process says why it cannot open it
            return False

    async def replace(self, events: Sequence[int], instead: Mapping[int, Text]) -> bool:
        """Remove events from it, and put other texts in the place of others; return whether that succeeded."""
        return await self._try(partial(index.replace, events=events, instead=instead, path=self._path))

    async def settle(self) -> bool:
        """Leave no trace of what was removed, now that it is no longer in the log; return whether that succeeded."""
        return await self._try(partial(index.settle, path=self._path, descriptor=self._descriptor))

    async def _try(self, job: Job[None]) -> bool:
        try:
            await self.writer.run(job)
        except (ImportError, OSError, sqlite3.Error, Storage) as error:
            log.warning("the search index %s is built again: %s", self._path, error)
            return False
        return True

    async def read(self, job: Job[T]) -> T:
        """Run a job on a reading connection; abort it if nobody waits for the result any more."""
        abandoned = threading.Event()
        try:
            return await min(self._readers, key=lambda reader: reader.waiting).run(
                partial(interruptible, job, abandoned.is_set)
            )
        finally:
            abandoned.set()


@asynccontextmanager
async def open_index(
    store: Store, path: str, database: str | OpenLog, described: Described
) -> AsyncIterator[OpenedIndex]:
    """Keep an index open for the block; create an empty one if the file is missing.

    Args:
        store: the store of the log.
        path: where the index is.
        database: how the index reads the log.
        described: the tools whose calls are known.
    """
    async with AsyncExitStack() as stack:

        async def connect(setup: Callable[..., None], *, readonly: bool) -> ConnectionThread:
            job = partial(setup, database=database, described=described)
            return await stack.enter_async_context(_connected(store, path, job, readonly=readonly))

        await anyio.to_thread.run_sync(end_orphans, path)
        descriptor = stack.enter_context(open_descriptor(path, os.O_CREAT | os.O_NOFOLLOW))
        writer = await connect(index.prepare, readonly=False)
        readers = [await connect(index.prepare_reader, readonly=True) for _ in range(_READERS)]
        yield OpenedIndex(path, descriptor, writer, readers)


@asynccontextmanager
async def _connected(store: Store, path: str, setup: Job[None], *, readonly: bool) -> AsyncIterator[ConnectionThread]:
    """Open a connection to the index, and to a log on a server; close them when the block ends."""
    async with store.open_beside(path, setup, readonly=readonly) as database:
        try:
            yield database
        finally:
            with anyio.CancelScope(shield=True):
                await database.run(close_log)


def interruptible(job: Job[T], abandoned: Callable[[], bool], connection: sqlite3.Connection) -> T:
    """Run a job until it is abandoned."""
    connection.set_progress_handler(abandoned, _STEPS)
    try:
        return job(connection)
    finally:
        connection.set_progress_handler(None, 0)
