"""A connection to the database: the one module that knows aiosqlite.

A job is a plain function of an ``sqlite3.Connection``. It runs as a whole on aiosqlite's thread, so that a
transaction of a hundred statements crosses threads once. What aiosqlite is asked for is one call that lasts as
long as the connection: it takes jobs from a queue, and hands their results straight to trio. A call for each job
would have to go by way of the asyncio loop, which is one more thread to wake before the disk is reached.
"""

import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from queue import SimpleQueue
from traceback import clear_frames
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import quote

import aiosqlite
import anyio

from reeld.store.bridge import Answer, AsyncioBridge

SQLITE = sqlite3.sqlite_version
# For the owner only; SQLite gives its other files the mode of this one.
_MODE = 0o600
T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]


class _Done:
    """What aiosqlite gets for its call: nothing to fetch."""

    @staticmethod
    def fetchall() -> None:
        """Fetch nothing; each job has handed over its own result."""


class _Connection(sqlite3.Connection):
    """Runs a function where a statement is expected; this is how one gets onto aiosqlite's thread."""

    def execute(self, sql: Any, parameters: Any = (), /) -> Any:
        if callable(sql):
            sql(self)
            return _Done
        return super().execute(sql, parameters)


class Database:
    """One connection; jobs run one after the other."""

    def __init__(self, bridge: AsyncioBridge) -> None:
        self._bridge = bridge
        self._jobs: SimpleQueue[tuple[Job[Any], Answer[Any]] | None] = SimpleQueue()
        self.waiting = 0

    async def run(self, job: Job[T]) -> T:
        """Run a job on the connection's thread; a cancelled caller gives up its answer, not the job."""
        answer: Answer[T] = self._bridge.answer()
        self.waiting += 1
        try:
            self._jobs.put((job, answer))
            return await answer.wait()
        finally:
            self.waiting -= 1

    def serve(self, connection: sqlite3.Connection) -> None:
        """Do jobs on the connection's thread until there are to be no more."""
        while (item := self._jobs.get()) is not None:
            job, answer = item
            try:
                answer.give(job(connection))
            except BaseException as error:
                # Whoever keeps the error keeps the frames that it went through. A cursor in one of them that is half
                # read would keep the connection in the state of the file in which it began.
                clear_frames(error.__traceback__)
                answer.fail(error)
            del item, job, answer  # a batch may be large, and the next job far away

    def end(self) -> None:
        """Let no more jobs be done, once those that wait are."""
        self._jobs.put(None)


@asynccontextmanager
async def open_database(
    bridge: AsyncioBridge, path: str, setup: Job[None], *, readonly: bool
) -> AsyncIterator[Database]:
    """Open a connection for as long as the block lasts.

    Args:
        bridge: where the asyncio loop is.
        path: the file; a writer creates it where there is none, for its owner only.
        setup: the first job.
        readonly: open it for reading only.
    """
    if not readonly:
        _keep_to_owner(path)
    uri = f"file:{quote(os.path.abspath(path))}?mode={'ro' if readonly else 'rw'}"  # noqa: ASYNC240, PTH100 - no I/O in it, and a symlink stays one
    with anyio.CancelScope(shield=True):  # what is opened for nobody would be closed by nobody
        connection = await bridge.call(_connect, uri)
    database = Database(bridge)
    bridge.begin(partial(_serve, connection, database))
    try:
        await database.run(setup)
        yield database
    finally:
        database.end()
        with anyio.CancelScope(shield=True):
            await bridge.call(connection.close)


def _keep_to_owner(path: str) -> None:
    """Make the file where there is none, and let nobody else in: a backup that was put back may be open to all."""
    for name, flags in ((path, os.O_CREAT), (f"{path}-wal", 0), (f"{path}-shm", 0)):
        with suppress(FileNotFoundError):
            descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, _MODE)
            try:
                if stat.S_IMODE(os.fstat(descriptor).st_mode) != _MODE:
                    os.fchmod(descriptor, _MODE)
            finally:
                os.close(descriptor)


async def _connect(uri: str) -> aiosqlite.Connection:
    return await aiosqlite.connect(uri, uri=True, factory=_Connection, isolation_level=None)


async def _serve(connection: aiosqlite.Connection, database: Database) -> None:
    await connection.execute_fetchall(cast("Any", database.serve))
