"""The connections of searches."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from errno import EACCES
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import pytest

from reel.base.errors import Storage
from reel.base.installation import UPDATED
from reeld.search import service
from reeld.search.opened_index import interruptible
from reeld.search.pauses import Pauses, pause_after
from reeld.search.service import Search
from reeld.store import connection_thread
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, write

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """A connection to an empty database."""
    with closing(sqlite3.connect(":memory:")) as opened:
        yield opened


def test_search_that_nobody_waits_for(connection: sqlite3.Connection) -> None:
    """A query ends soon after its client has left, and the connection is used by the next one."""
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        interruptible(lambda opened: opened.execute(_ENDLESS).fetchone(), lambda: True, connection)

    assert (1,) == connection.execute("SELECT 1").fetchone()


async def test_client_that_leaves(tmp_path: Path) -> None:
    """A search whose client has left is interrupted, and holds up nobody."""
    with anyio.fail_after(PATIENCE):
        async with open_store(str(tmp_path / "reel.db")) as store, anyio.create_task_group() as tasks:
            search = Search(store)
            tasks.start_soon(search.run)
            for _ in range(4):  # more than there are readers
                with anyio.move_on_after(0.01):
                    await search.read(lambda connection: connection.execute(_ENDLESS).fetchone())
            found = await search.read(lambda connection: connection.execute("SELECT 1").fetchone())
            tasks.cancel_scope.cancel()

    assert (1,) == found


async def test_an_index_that_is_not_open(tmp_path: Path) -> None:
    """It has no event, so that what is found while it is built again never passes for all there is."""
    async with open_store(str(tmp_path / "reel.db")) as store:
        await write(store, made(1, event(2, content="tape")))
        search = Search(store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search.run)
            while search.behind:
                await search.catch_up(PATIENCE)
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

        assert 0 < store.writer.newest == search.behind == search.touches_behind


async def test_an_update_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what reads events is no longer there, searching says why, and an erasure goes on."""
    monkeypatch.setitem(sys.modules, "reeld.search.entering", None)
    monkeypatch.delattr("reeld.search.entering", raising=False)
    async with open_store(str(tmp_path / "reel.db")) as store:
        search = Search(store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE):
                await search.read(lambda connection: connection.execute("SELECT 1").fetchone())
                async with search.without([1], {}):
                    pass
                await write(store, made(1, event(2, content="tape")))
                while search.problem is None:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    assert UPDATED == search.problem


def test_pauses() -> None:
    """An index that is damaged again and again is built less and less often; one that was sound for long, at once."""
    pauses = Pauses()

    assert [0, 60, 120, 240] == [pauses.next(at) for at in (0, 1, 62, 190)]
    assert [0, 60] == [pauses.next(at) for at in (5000, 5001)]
    assert 0 == [pauses.next(at) for at in range(6000, 90_000, 4000)][-1]


def test_who_writes_comes_first() -> None:
    """The index rests after each batch while others write, the longer the more they write, and never else."""
    pauses = [pause_after(0.2, written, 1000) for written in (0, 1, 500, 1000, 9000)]

    assert pytest.approx([0, 0.1, 0.3, 0.6, 0.6]) == pauses


def test_a_batch_that_had_to_wait() -> None:
    """The time for which somebody had stopped its process says nothing about how much others write."""
    assert pause_after(2.0, 1000, 1000) == pause_after(120.0, 1000, 1000)


async def test_erasing_while_the_index_is_opened(tmp_path: Path) -> None:
    """An erasure that begins while the index is being opened waits for that, and searching works afterwards."""

    async def erase() -> None:
        async with search.without([1], {}):
            pass

    async with open_store(str(tmp_path / "reel.db")) as store, anyio.create_task_group() as tasks:
        search = Search(store)
        with closing(sqlite3.connect(search.path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            tasks.start_soon(search.run)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(erase)
            await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(PATIENCE):
            found = await search.read(lambda connection: connection.execute("SELECT 1").fetchone())
        tasks.cancel_scope.cancel()

    assert (1,) == found


async def test_erasing_beside_a_file_of_another_program(tmp_path: Path) -> None:
    """An erasure keeps a foreign file at the path of the index, even if the daemon is killed during the erasure."""
    async with open_store(str(tmp_path / "reel.db")) as store:
        search = Search(store)
        with closing(sqlite3.connect(search.path, isolation_level=None)) as other:
            other.execute("CREATE TABLE theirs AS SELECT 'kept'")
        store.eraser.index_has_traces = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE), pytest.raises(Storage, match="not a search index of reel's"):
                await search.opened()
            async with search.without([1], {}):
                pass
            await search.begin_again()
            tasks.cancel_scope.cancel()

        assert not store.eraser.index_has_traces
        with closing(sqlite3.connect(search.path)) as other:
            assert [("kept",)] == other.execute("SELECT * FROM theirs").fetchall()


@pytest.mark.parametrize(
    "make", [os.mkdir, os.mkfifo, partial(os.symlink, "theirs")], ids=["directory", "fifo", "link"]
)
async def test_erasing_beside_what_is_no_file(tmp_path: Path, make: Callable[[str], None]) -> None:
    """What cannot be an index stays, and nobody waits for it."""
    async with open_store(str(tmp_path / "reel.db")) as store:
        search = Search(store)
        make(search.path)
        with anyio.fail_after(PATIENCE):
            async with search.without([1], {}):
                pass

    assert "search.db" in os.listdir(tmp_path)
    assert not store.eraser.index_has_traces


async def test_an_index_that_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not searched any more if it has traces, and the erasure is not complete before it is gone."""
    unlink = os.unlink

    def refuse(path: str) -> None:
        if path.endswith("search.db"):
            raise PermissionError(EACCES, "Permission denied", path)
        unlink(path)

    async with open_store(str(tmp_path / "reel.db")) as store:
        await write(store, made(1, event(2, content="tape")))
        search = Search(store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE):
                await search.opened()
            tasks.cancel_scope.cancel()
        with monkeypatch.context() as patched:
            patched.setattr(os, "unlink", refuse)
            async with search.without([1], {}):
                pass
            is_clean, problem = await store.eraser.clean(), store.eraser.problem
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(search.run)
                with anyio.fail_after(PATIENCE), pytest.raises(Storage, match="Permission denied"):
                    await search.opened()
                tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE):
                while search.problem is not None:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    assert (False, "the search index still has traces of what was erased") == (is_clean, problem)
    assert store.eraser.problem is None


async def test_an_index_that_cannot_be_removed_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an erasure comes first, and cannot remove it, it is not opened with what was erased."""

    def refuse(path: str) -> None:
        raise PermissionError(EACCES, "Permission denied", path)

    async with open_store(str(tmp_path / "reel.db")) as store:
        await write(store, made(1, event(2, content="tape")))
        for erases in (False, True):
            search = Search(store)
            async with anyio.create_task_group() as tasks:
                if erases:
                    monkeypatch.setattr(os, "unlink", refuse)
                    async with search.without([1], {}):
                        tasks.start_soon(search.run)
                        await anyio.wait_all_tasks_blocked()
                    with anyio.fail_after(PATIENCE):
                        while f"{search.path} cannot be used" not in str(search.problem):
                            await anyio.lowlevel.checkpoint()
                else:
                    tasks.start_soon(search.run)
                    await search.opened()
                tasks.cancel_scope.cancel()

    assert store.eraser.index_has_traces


async def test_an_index_that_is_locked_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching works again soon after another program has let it go."""
    connect = connection_thread._connect

    async def connect_without_waiting(uri: str) -> aiosqlite.Connection:
        connection = await connect(uri)
        await connection.execute("PRAGMA busy_timeout = 0")
        return connection

    monkeypatch.setattr(connection_thread, "_connect", connect_without_waiting)
    monkeypatch.setattr(service, "_SOON", 0.001)
    monkeypatch.setattr(service, "_RETRY", 1e9)
    async with open_store(str(tmp_path / "reel.db")) as store, anyio.create_task_group() as tasks:
        search = Search(store)
        with closing(sqlite3.connect(search.path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE), pytest.raises(Storage, match="database is locked"):
                await search.opened()
        with anyio.fail_after(PATIENCE):
            while search.problem is not None:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_erasing_beside_a_reader(tmp_path: Path) -> None:
    """An index that somebody reads while something is erased is built again at once, however often that happens."""

    def one(connection: sqlite3.Connection) -> Any:
        return connection.execute("SELECT 1").fetchone()

    async with open_store(str(tmp_path / "reel.db")) as store, anyio.create_task_group() as tasks:
        search = Search(store)
        tasks.start_soon(search.run)
        with anyio.fail_after(PATIENCE):
            for _ in range(3):
                await search.read(one)
                opened = await search.opened()
                await opened.writer.run(lambda connection: connection.execute("PRAGMA busy_timeout = 1").fetchall())
                with closing(sqlite3.connect(search.path, isolation_level=None)) as other:
                    other.execute("BEGIN")
                    other.execute("SELECT * FROM progress").fetchall()
                    async with search.without([1], {}):
                        pass
                while search._index is opened:
                    await anyio.lowlevel.checkpoint()
            found = await search.read(one)
        tasks.cancel_scope.cancel()

    assert found is not None
