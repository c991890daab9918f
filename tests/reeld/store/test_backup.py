"""A backup: a whole copy in a new file, or nothing."""

import os
import sqlite3
import threading
from pathlib import Path

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import InvalidParams, Storage
from reeld.store import backup, queries
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, mode, names, profile, query, said, size, write
from tests.reeld.store.rows import Rows

pytestmark = pytest.mark.file


def remove(path: str) -> None:
    """Remove a file, as another program would."""
    Path(path).unlink()


async def test_a_backup_is_complete(store: Store, tmp_path: Path) -> None:
    """A backup has everything that was written before, and opens as a reel database."""
    await write(store, made(1, event(2), event(3)))
    copied = str(tmp_path / "copy.db")

    assert await store.backup(copied) == size(copied)
    async with open_store(copied) as copy:
        assert profile(1, 3) == await copy.read(queries.find, "agent-1")
        assert 2 == copy.new_row()
        assert store.writer.newest == copy.writer.newest


async def test_a_backup_is_for_its_owner_only(store: Store, tmp_path: Path) -> None:
    """A backup has mode 0600 whatever the umask is, and nothing else is left beside it."""
    before, umask = names(tmp_path), os.umask(0)
    try:
        await store.backup(str(tmp_path / "copy.db"))
    finally:
        os.umask(umask)

    assert 0o600 == mode(str(tmp_path / "copy.db"))
    assert {"copy.db"} == names(tmp_path) - before


@pytest.mark.parametrize("removed", [[""], ["-wal"], ["", "-wal", "-shm"]])
async def test_what_was_removed_is_saved(store: Store, path: str, tmp_path: Path, removed: list[str]) -> None:
    """A backup reads through the open files, also on a connection that has never read before."""
    await write(store, made(1))
    await write(store, said(1, event(2, "user", "later")))
    for suffix in removed:
        remove(f"{path}{suffix}")
    copied = str(tmp_path / "copy.db")
    await store.backup(copied)

    assert [(None,), ("later",)] == query(copied, "SELECT content FROM events ORDER BY id")


async def test_a_file_that_exists_stays(store: Store, tmp_path: Path) -> None:
    """A backup never replaces a file, not even one that appears while it is written."""
    taken = tmp_path / "copy.db"
    taken.write_text("precious")

    with pytest.raises(InvalidParams, match=f"{taken} exists; name a new file"):
        await store.backup(str(taken))
    assert "precious" == taken.read_text()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".lock"])
async def test_the_databases_own_names_are_refused(store: Store, path: str, suffix: str) -> None:
    """A copy whose name the database's own files use is refused."""
    with pytest.raises(InvalidParams, match="belongs to the database"):
        await store.backup(f"{path}{suffix}")


@pytest.mark.parametrize("name", ["nowhere/copy.db", "reel.db/copy.db", "x" * 300])
async def test_a_backup_that_cannot_be_written(store: Store, tmp_path: Path, name: str) -> None:
    """A backup that cannot be written raises a storage error that names the file, and leaves nothing behind."""
    before = names(tmp_path)

    with pytest.raises(Storage, match=f"no copy was written to {tmp_path}/{name}: "):
        await store.backup(f"{tmp_path}/{name}")
    assert before == names(tmp_path)


async def test_a_backup_that_nobody_waits_for_ends(store: Store, tmp_path: Path) -> None:
    """A cancelled backup leaves nothing, and the next one is written."""
    before, over = names(tmp_path), threading.Event()
    async with anyio.create_task_group() as tasks:
        # Else it might be written before it is cancelled.
        tasks.start_soon(store._require_copier().run, lambda _: over.wait(PATIENCE))
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(store.backup, str(tmp_path / "copy.db"))
        await wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    over.set()
    await store.backup(str(tmp_path / "next.db"))

    assert {"next.db"} == names(tmp_path) - before


def test_a_backup_that_takes_long_is_interrupted(rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup stops during the copy if nobody waits for it any more."""
    monkeypatch.setattr(backup, "_STEPS", 1)
    rows.agent(1)
    asked = iter([False, False])
    assert isinstance(rows.connection, sqlite3.Connection)
    with pytest.raises(Storage, match="interrupted"):
        backup.Copy(str(tmp_path / "copy.db")).write(rows.connection, abandoned=lambda: next(asked, True))

    assert {"reel.db", "reel.db-wal", "reel.db-shm"} == names(tmp_path)
