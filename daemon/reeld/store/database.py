"""A connection to the database: the one module that knows aiosqlite.

A job is a plain function of an ``sqlite3.Connection``. It runs as a whole on aiosqlite's thread, so that a
transaction of a hundred statements crosses threads once.
"""

import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import quote

import aiosqlite
import anyio

from reeld.store.door import Door

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]


class _Done:
    """What aiosqlite gets for a job: nothing to fetch."""

    @staticmethod
    def fetchall() -> None:
        """Fetch nothing; the job has handed over its result itself."""


class _Connection(sqlite3.Connection):
    """Runs a job where a statement is expected; this is how one gets onto aiosqlite's thread."""

    def execute(self, sql: Any, parameters: Any = (), /) -> Any:
        if callable(sql):
            sql(self)
            return _Done
        return super().execute(sql, parameters)


class Database:
    """One connection; jobs run one after the other."""

    def __init__(self, door: Door, connection: aiosqlite.Connection) -> None:
        self._door = door
        self._connection = connection
        self.waiting = 0

    async def run(self, job: Job[T]) -> T:
        """Run a job on the connection's thread; a cancelled caller gives up its answer, not the job.

        The result comes straight from that thread, not by way of the asyncio loop: one thread less to wake.
        """
        answer = self._door.answer()

        def work(connection: sqlite3.Connection) -> None:
            try:
                answer.give(job(connection))
            except BaseException as error:
                answer.fail(error)

        async def send() -> None:
            try:
                await self._connection.execute_fetchall(cast("Any", work))
            except BaseException as error:  # it never got to the thread
                answer.fail(error)

        self.waiting += 1
        try:
            self._door.begin(send)
            return cast("T", await answer.wait())
        finally:
            self.waiting -= 1


@asynccontextmanager
async def open_database(door: Door, path: str, setup: Job[None], *, readonly: bool) -> AsyncIterator[Database]:
    """Open a connection for as long as the block lasts.

    Args:
        door: where the asyncio loop is.
        path: the file; a writer creates it where there is none, for its owner only.
        setup: the first job.
        readonly: open it for reading only.
    """
    if not readonly:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    uri = f"file:{quote(os.path.abspath(path))}?mode={'ro' if readonly else 'rw'}"  # noqa: ASYNC240, PTH100 - no I/O in it, and a symlink stays one
    connection = await door.call(_connect, uri)
    try:
        database = Database(door, connection)
        await database.run(setup)
        yield database
    finally:
        with anyio.CancelScope(shield=True):
            await door.call(connection.close)


async def _connect(uri: str) -> aiosqlite.Connection:
    return await aiosqlite.connect(uri, uri=True, factory=_Connection, isolation_level=None)
