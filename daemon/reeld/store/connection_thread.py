"""A connection to the database, and its thread: the one module that knows aiosqlite.

This project's connections to SQLite are aiosqlite's: that is a condition, not a choice. Its thread runs our jobs, plain
functions of an ``sqlite3.Connection``, each as a whole, so that a transaction of a hundred statements crosses threads
only once. aiosqlite itself gets a single call that lasts as long as the connection: :meth:`ConnectionThread.serve`
takes jobs from a queue and hands their results straight to trio. One aiosqlite call per job would go through the
asyncio loop, one more thread to wake before the disk is reached; one hop instead of three awaits saves 100 us of a
single commit.

A short job may run in trio's thread (:meth:`ConnectionThread.run_here`), which saves that hop, too. Both threads use
the connection, but never at once: only trio's thread submits jobs, and it counts those whose outcome it has not got
yet. If there are none, the connection's thread waits for a job, and gets none before trio's thread goes on.
"""

import logging
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from queue import SimpleQueue
from traceback import clear_frames
from typing import Any, TypeAlias, TypeVar, cast

import aiosqlite
import anyio

from reeld.answer import Answer
from reeld.poller import Poller
from reeld.store.bridge import AsyncioBridge
from reeld.store.connection import uri_of
from reeld.store.opening import open_regular
from reeld.store.wal_copies import WalCopies

logging.getLogger("aiosqlite").setLevel(logging.WARNING)  # it would log each of its calls

SQLITE = sqlite3.sqlite_version
# For the owner only. SQLite gives the WAL and the -shm file the same mode as the database.
_MODE = 0o600
T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]


class _NoRows:
    """Takes the place of the cursor that aiosqlite expects from its call."""

    @staticmethod
    def fetchall() -> None:
        """Return nothing: each job has delivered its own result."""


class _FunctionRunner(sqlite3.Connection):
    """Runs a function instead of a statement: the way onto aiosqlite's thread through its public interface."""

    # Another connection that jobs of this one use.
    log: Any = None
    # What its checkpoints have copied; ``None`` if it makes none, or of what can be built again.
    copies: WalCopies | None = None

    def execute(self, sql: Any, parameters: Any = (), /) -> Any:
        if callable(sql):
            sql(self)
            return _NoRows
        return super().execute(sql, parameters)


class ConnectionThread:
    """One connection; jobs run one after the other."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self._jobs: SimpleQueue[tuple[Job[Any], Callable[[Any], None]] | None] = SimpleQueue()
        self.waiting = 0
        # How many jobs have been submitted whose outcome has not arrived in trio's thread.
        self._underway = 0
        # Known as soon as its thread serves.
        self._connection: Any = None

    async def run(self, job: Job[T]) -> T:
        """Run a job on the connection's thread; cancelling the caller abandons the result, not the job."""
        answer: Answer[T] = Answer()
        self.waiting += 1
        try:
            self.submit(job, answer.take)
            return await answer.wait()
        finally:
            self.waiting -= 1

    def submit(self, job: Job[T], take: Callable[[T | BaseException], None]) -> None:
        """Run a job on the connection's thread; ``take`` gets its result or its error, in trio's thread."""
        self._underway += 1
        self._jobs.put((job, take))

    def _deliver(self, finished: tuple[Callable[[Any], None], Any]) -> None:
        self._underway -= 1
        take, outcome = finished
        take(outcome)

    @property
    def is_idle(self) -> bool:
        """Whether no job is queued or runs, so that :meth:`run_here` is allowed."""
        return not self._underway and self._connection is not None

    def run_here(self, job: Job[T]) -> T | BaseException:
        """Run a job in trio's thread, which waits for it; return its result or its error.

        Raises:
            RuntimeError: the connection's thread has a job.
        """
        if not self.is_idle:
            raise RuntimeError("the connection is used by its own thread")
        return _outcome(job, self._connection)

    def serve(self, connection: Any) -> None:
        """Run jobs on the connection's thread until :meth:`end`."""
        self._connection = connection
        while (item := self._jobs.get()) is not None:
            job, take = item
            finished = take, _outcome(job, connection)
            self.poller.call_soon(self._deliver, finished)
            del item, job, take, finished  # a batch may be large, and the next job may be a long time away

    def end(self) -> None:
        """Stop after the jobs that are queued."""
        self._jobs.put(None)


def _outcome(job: Job[T], connection: Any) -> T | BaseException:
    try:
        return job(connection)
    except BaseException as error:
        # The error keeps alive the frames of its traceback. A half-read cursor in one of them would keep the
        # connection's read transaction open, on an old snapshot of the file.
        clear_frames(error.__traceback__)
        return error


@asynccontextmanager
async def open_database(
    bridge: AsyncioBridge, path: str, setup: Job[None], *, readonly: bool
) -> AsyncIterator[ConnectionThread]:
    """Open a connection until the block ends.

    Args:
        bridge: to the asyncio loop.
        path: the file; a writer creates it if it is missing, for its owner only.
        setup: the first job.
        readonly: whether it only reads.
    """
    if not readonly:
        _keep_to_owner(path)
    with anyio.CancelScope(shield=True):  # a connection would never be closed if opening it were cancelled
        connection = await bridge.call(_connect, uri_of(path, "ro" if readonly else "rw"))
    database = ConnectionThread(bridge.poller)
    bridge.spawn(partial(_serve, connection, database))
    try:
        await database.run(setup)
        yield database
    finally:
        database.end()
        with anyio.CancelScope(shield=True):
            await bridge.call(connection.close)


def _keep_to_owner(path: str) -> None:
    """Create the file if it is missing, and take all rights from others: a restored backup may be readable by all."""
    for name, flags in ((path, os.O_CREAT), (f"{path}-wal", 0), (f"{path}-shm", 0)):
        with suppress(FileNotFoundError):
            descriptor = open_regular(name, os.O_RDWR | os.O_NOFOLLOW | flags, _MODE)
            try:
                if stat.S_IMODE(os.fstat(descriptor).st_mode) != _MODE:
                    os.fchmod(descriptor, _MODE)
            finally:
                os.close(descriptor)


async def _connect(uri: str) -> aiosqlite.Connection:
    return await aiosqlite.connect(
        uri, uri=True, factory=_FunctionRunner, isolation_level=None, check_same_thread=False
    )


async def _serve(connection: aiosqlite.Connection, database: ConnectionThread) -> None:
    await connection.execute_fetchall(cast("Any", database.serve))
