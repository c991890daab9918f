"""Files that are removed or replaced while they are open: nothing is acknowledged that would be lost."""

import logging
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import anyio
import pytest

from reel.base.errors import Storage
from reeld.locks import lock_database
from reeld.store import queries
from reeld.store.presence import DATABASE, WAL, Displaced, Presence
from reeld.store.store import Store, open_store
from reeld.store.transactions import Outcome
from reeld.verify.verifier import open_verifier
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, mode, query, said, size, write

pytestmark = pytest.mark.file


def replace(path: str) -> None:
    """Move a file away and put a copy in its place."""
    shutil.move(path, f"{path}.away")
    shutil.copy(f"{path}.away", path)


def remove(path: str) -> None:
    """Remove a file."""
    Path(path).unlink()


def identity(path: str) -> int:
    """Return the inode of a file."""
    return Path(path).stat().st_ino


def refusals(outcomes: list[Outcome]) -> list[str]:
    """Return the error of each transaction."""
    return [outcome.message for outcome in outcomes if isinstance(outcome, Storage)]


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_file_that_was_removed(store: Store, path: str, suffix: str) -> None:
    """No transaction is written, each error says why and what to do, and what was written before can be read."""
    await write(store, made(1))
    remove(f"{path}{suffix}")
    told = refusals(await write(store, made(2), said(1, event(2))))

    about = f"{path}{suffix} was removed or moved away while reeld ran"
    assert [f"nothing was written: {about}"] * 2 == [text.partition("; ")[0] for text in told]
    assert ("reel stop; reel start" if suffix else "reel backup FILE") in told[0]
    assert 1 == (await store.read(queries.totals))["newest_event"]


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_file_that_was_replaced(store: Store, path: str, suffix: str) -> None:
    """A copy in place of the database is another file, although it has the same content."""
    await write(store, made(1))
    replace(f"{path}{suffix}")

    (told,) = refusals(await write(store, made(2)))
    assert told.startswith(f"nothing was written: another file is in the place of {path}{suffix}; ")


async def test_a_file_that_is_back(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Transactions are written again once the same file is back at its path; both are logged once."""
    with caplog.at_level(logging.WARNING):
        shutil.move(path, f"{path}.away")
        assert 3 == len(refusals([*await write(store, made(1), made(2)), *await write(store, made(3))]))
        shutil.move(f"{path}.away", path)
        assert [[1], [2]] == await write(store, made(4), made(5))

    assert [logging.CRITICAL, logging.WARNING] == [record.levelno for record in caplog.records]


async def test_a_lock_that_was_removed(path: str) -> None:
    """Without the lock file another daemon could open the database: nothing is written, and no WAL is copied."""
    with lock_database(path) as held:
        async with open_store(path, held=held) as store:
            await write(store, made(1))
            before = size(path)
            remove(f"{path}.lock")
            (told,) = refusals(await write(store, made(2)))
            await store.displacement.watch()
            await store.tidy()

            assert told.startswith(f"nothing was written: {path}.lock was removed")
            assert before == size(path)


async def test_a_wal_that_was_removed_is_put_back(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A private copy is put at its path for the next start; it does not pass for the open file."""
    await write(store, made(1, event(2)))
    remove(f"{path}-wal")
    with caplog.at_level(logging.WARNING):
        await store.displacement.watch()
        await store.displacement.watch()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}.killed{suffix}")

    assert 0o600 == mode(f"{path}-wal")
    assert 1 == len(refusals(await write(store, made(2))))
    assert [logging.CRITICAL, logging.WARNING] == [record.levelno for record in caplog.records]
    assert [(2,)] == query(f"{path}.killed", "SELECT count(*) FROM events")


async def test_an_empty_wal_is_replaced(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A connection that SQLite opens before the loss is noticed leaves an empty WAL: the copy takes its place."""
    await write(store, made(1, event(2)))
    remove(f"{path}-wal")
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):
        connection.execute("SELECT * FROM events").fetchall()
    assert 0 == size(f"{path}-wal")
    with caplog.at_level(logging.WARNING):
        await store.displacement.watch()
        await store.displacement.watch()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}.killed{suffix}")

    assert [logging.CRITICAL, logging.WARNING] == [record.levelno for record in caplog.records]
    assert [(2,)] == query(f"{path}.killed", "SELECT count(*) FROM events")


async def test_another_wal_stays(store: Store, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A file that somebody else put at the WAL's path is not replaced, and that is logged."""
    replace(f"{path}-wal")
    before = identity(f"{path}-wal")
    with caplog.at_level(logging.WARNING):
        await store.displacement.watch()

    assert before == identity(f"{path}-wal")
    assert "no copy of the WAL could be put to its path" in caplog.messages[-1]


@pytest.mark.parametrize("watched", [True, False])
async def test_a_wal_that_was_removed_takes_nothing_with_it(path: str, watched: bool) -> None:
    """Closing the database copies the WAL into it, whatever is at its path."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await write(store, made(1, event(2)))
            remove(f"{path}-wal")
            if watched:
                await store.displacement.watch()

    assert [(2,)] == query(path, "SELECT count(*) FROM events")


async def test_an_idle_store_notices(store: Store, path: str) -> None:
    """A displaced file is reported without a command, and a check does not read the other file."""
    replace(path)
    await store.displacement.watch()

    assert Displaced(DATABASE, f"another file is in the place of {path}") == store.displacement.displaced
    with pytest.raises(Storage, match="the database cannot be opened again: another file"):
        async with open_verifier(store):
            pass


@pytest.mark.parametrize(("suffix", "lost"), [("", True), ("-wal", False)])
async def test_what_would_be_lost(store: Store, path: str, suffix: str, lost: bool) -> None:
    """A removed database is lost with the process unless there is a backup; a removed WAL has a copy."""
    remove(f"{path}{suffix}")
    await store.displacement.watch()
    assert lost == (store.displacement.unsaved is not None)
    await store.backup(f"{path}.copy")

    assert None is store.displacement.unsaved
    assert store.displacement.displaced is not None


async def test_a_backup_of_before_saves_nothing(store: Store, path: str) -> None:
    """A backup that was written before the database was removed is incomplete."""
    await store.backup(f"{path}.copy")
    remove(path)
    await store.displacement.watch()

    assert store.displacement.unsaved is not None


async def test_a_backup_of_an_earlier_loss_saves_nothing(store: Store, path: str) -> None:
    """What was written after a database came back is not in the backup of its first absence."""
    shutil.move(path, f"{path}.away")
    await store.backup(f"{path}.copy")
    shutil.move(f"{path}.away", path)
    await store.displacement.watch()
    remove(path)
    await store.displacement.watch()

    assert store.displacement.unsaved is not None


def test_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    """A WAL that was never made is not missing; once it was seen, it is."""
    path = tmp_path / "reel.db"
    path.touch()
    presence = Presence(str(path))
    assert None is presence.look()
    wal = tmp_path / "reel.db-wal"
    wal.touch()
    assert None is presence.look()
    wal.unlink()

    assert Displaced(WAL, f"{wal} was removed or moved away while reeld ran") == presence.look()


def test_a_database_that_is_replaced_at_the_opening(tmp_path: Path) -> None:
    """The file is identified before SQLite opens it: SQLite may open another one."""
    path = tmp_path / "reel.db"
    path.touch()
    presence = Presence(str(path))
    replace(str(path))

    assert presence.look() is not None


def test_a_directory_that_cannot_be_looked_into(tmp_path: Path) -> None:
    """If a file cannot be examined, it does not count as present."""
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "reel.db"
    path.touch()
    presence = Presence(str(path))
    shutil.move(tmp_path / "state", tmp_path / "away")
    (tmp_path / "state").symlink_to("state")

    displaced = presence.look()
    assert displaced is not None
    assert f"{path} cannot be looked at: Too many levels of symbolic links" == displaced.about
