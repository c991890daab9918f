"""Jobs on a connection."""

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import trio
import trio.testing

from reeld.store.bridge import AsyncioBridge, open_bridge
from reeld.store.connection_thread import ConnectionThread, open_database
from tests.patience import PATIENCE

pytestmark = pytest.mark.file


def nothing(_: sqlite3.Connection) -> None:
    """Leave a connection as it is."""


@pytest.fixture
async def database(path: str) -> AsyncIterator[ConnectionThread]:
    """A connection to a new file with a table, with a time limit."""

    def setup(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE t (x)")

    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge, open_database(bridge, path, setup, readonly=False) as opened:
            yield opened


def count(connection: sqlite3.Connection) -> int:
    """Return the number of rows of the table."""
    (rows,) = connection.execute("SELECT count(*) FROM t").fetchone()
    return int(rows)


async def test_a_job_gives_what_it_returns(database: ConnectionThread) -> None:
    """The result of a job is returned as it is, also an empty one."""
    assert {"any": "thing"} == await database.run(lambda _: {"any": "thing"})
    assert [] == await database.run(lambda connection: connection.execute("SELECT 1 WHERE 0").fetchall())


async def test_a_job_raises_what_it_raised(database: ConnectionThread) -> None:
    """An error of SQLite is raised as itself, and the connection goes on."""
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await database.run(lambda connection: connection.execute("SELECT * FROM nowhere"))

    assert 0 == await database.run(count)


async def test_a_job_is_not_interleaved(database: ConnectionThread) -> None:
    """A job of many statements runs as a whole, and jobs run in the order in which they were submitted."""
    order: list[int] = []

    def job(number: int, connection: sqlite3.Connection) -> None:
        for _ in range(3):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            order.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(database.run, lambda connection, number=number: job(number, connection))

    assert 15 == await database.run(count)
    assert all(order[start] == order[start + 1] == order[start + 2] for start in range(0, 15, 3))


async def test_a_job_in_the_callers_thread(database: ConnectionThread) -> None:
    """While the connection has nothing to do, a job may run in trio's thread; its result or its error is returned."""
    assert await database.run(lambda _: threading.get_ident()) != threading.get_ident()
    assert database.is_idle

    assert threading.get_ident() == database.run_here(lambda _: threading.get_ident())
    assert 0 == database.run_here(count)
    assert isinstance(database.run_here(lambda connection: connection.execute("?")), sqlite3.OperationalError)


async def test_never_two_jobs_at_once(database: ConnectionThread) -> None:
    """A job is refused in trio's thread from the submission of another one until its outcome is known there."""
    token = trio.lowlevel.current_trio_token()
    begun, gate, known = anyio.Event(), threading.Event(), anyio.Event()

    def job(_: sqlite3.Connection) -> None:
        token.run_sync_soon(begun.set)
        gate.wait(PATIENCE)

    database.submit(job, lambda _: known.set())
    for wait in (None, begun):
        if wait is not None:
            await wait.wait()
        assert not database.is_idle
        with pytest.raises(RuntimeError, match="used by its own thread"):
            database.run_here(count)
    gate.set()
    await known.wait()
    assert 0 == database.run_here(count)


async def test_a_cancelled_caller_leaves_no_transaction_open(database: ConnectionThread) -> None:
    """A job whose caller was cancelled runs on to its commit."""
    token = trio.lowlevel.current_trio_token()
    begun, gate = anyio.Event(), threading.Event()

    def job(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (1)")
        token.run_sync_soon(begun.set)
        gate.wait(PATIENCE)
        connection.execute("COMMIT")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(database.run, job)
        await begun.wait()
        assert 1 == database.waiting
        tasks.cancel_scope.cancel()
    gate.set()

    assert (1, 0) == (await database.run(count), database.waiting)
    assert not await database.run(lambda connection: connection.in_transaction)


async def test_a_job_that_fails_leaves_no_reading_open(database: ConnectionThread, path: str) -> None:
    """A failed job's read ends although somebody keeps its error: later jobs see what others have written."""

    def job(connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT x FROM t")
        raise ValueError(next(rows))

    await database.run(lambda connection: connection.execute("PRAGMA journal_mode = WAL").fetchall())
    await database.run(lambda connection: connection.execute("INSERT INTO t VALUES (1), (2)").rowcount)
    with pytest.raises(ValueError, match="1") as kept:
        await database.run(job)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (3)")

    assert 3 == await database.run(count)
    assert kept.value.__traceback__ is not None


async def test_a_path_may_hold_anything(tmp_path: Path) -> None:
    """Characters with a meaning in a URI are part of the file's name."""
    path = tmp_path / "a b?mode=ro#%41é.db"
    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge, open_database(bridge, str(path), nothing, readonly=False) as database:
            await database.run(lambda connection: connection.execute("CREATE TABLE t (x)") and None)

    assert [path.name] == [file.name async for file in anyio.Path(tmp_path).iterdir()]


async def test_a_reader_makes_no_file(path: str) -> None:
    """Opening a missing file for reading fails, and creates nothing."""
    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge:
            with pytest.raises(sqlite3.OperationalError, match="unable to open"):
                async with open_database(bridge, path, nothing, readonly=True):
                    raise AssertionError
            for thread in threading.enumerate():  # aiosqlite releases its thread without waiting for it
                if thread.name.endswith("(_connection_worker_thread)"):
                    thread.join(PATIENCE)

    assert not await anyio.Path(path).exists()


async def test_a_setup_that_fails_closes_the_connection(path: str) -> None:
    """If opening fails, the caller gets the error and nothing stays open."""

    def fail(_: sqlite3.Connection) -> None:
        raise ValueError("no")

    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge:
            with pytest.raises(ValueError, match="no"):
                async with open_database(bridge, path, fail, readonly=False):
                    raise AssertionError


def open_files() -> set[str]:
    """Return the names of the files that this process has open."""
    return {str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}


async def test_who_is_cancelled_while_it_opens_leaves_nothing_open(path: str) -> None:
    """A cancelled opening waits until the connection is open, and closes it: nobody else would."""
    gate, over = threading.Event(), anyio.Event()

    async def hold_up() -> None:
        gate.wait(PATIENCE)

    async def open_it(bridge: AsyncioBridge) -> None:
        try:
            async with open_database(bridge, path, nothing, readonly=False):
                raise AssertionError
        finally:
            over.set()

    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge:
            bridge.spawn(hold_up)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(open_it, bridge)
                await trio.testing.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await trio.testing.wait_all_tasks_blocked()
                    gate.set()
                    assert not over.is_set()
                    await over.wait()

            assert path not in open_files()
