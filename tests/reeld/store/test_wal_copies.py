"""What a checkpoint has copied without a sync is copied again if a later sync fails."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reeld.store import file_engine
from reeld.store.store import open_store
from reeld.store.wal import checkpoint, restart_wal, truncate_wal
from reeld.store.wal_copies import WalCopies
from tests.reeld.store.making import event, made, query, said, size, write

pytestmark = pytest.mark.file


class Writer(sqlite3.Connection):
    """A connection that makes checkpoints."""

    copies: WalCopies | None = None


@contextmanager
def opened(path: str) -> Iterator[tuple[Writer, int]]:
    """Open a database with a hundred rows of a page each, and a descriptor of it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        with closing(sqlite3.connect(path, isolation_level=None, factory=Writer)) as writer:
            writer.executescript("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
            writer.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, text)")
            writer.executemany("INSERT INTO said VALUES (?, ?)", ((row, "a" * 3000) for row in range(100)))
            checkpoint(writer)
            yield writer, descriptor
    finally:
        os.close(descriptor)


def say(writer: Writer, letter: str, first: int) -> None:
    """Change ten rows."""
    for row in range(first, first + 10):
        writer.execute("UPDATE said SET text = ? WHERE id = ?", (letter * 3000, row))


def on_the_disk(path: str, tmp_path: Path) -> dict[str, int]:
    """Return how many rows have which letter in a copy of the file without its WAL."""
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path(path).read_bytes())
    with closing(sqlite3.connect(copy)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
        return letters(connection)


def letters(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many rows have which letter."""
    return dict(connection.execute("SELECT substr(text, 1, 1), count(*) FROM said GROUP BY 1"))


@contextmanager
def failing(writer: sqlite3.Connection) -> Iterator[None]:
    """Let checkpoints fail."""
    writer.set_authorizer(_no_pragma)
    try:
        yield
    finally:
        writer.set_authorizer(None)


@pytest.mark.parametrize("has_copies", [True, False])
@pytest.mark.parametrize(
    "later", [checkpoint, lambda writer: restart_wal(writer, 0), lambda writer: truncate_wal(writer, 0)]
)
def test_a_sync_that_failed(path: str, tmp_path: Path, later: object, has_copies: bool) -> None:
    """What a checkpoint has copied beside a reader is in the file after the system lost it; SQLite alone loses it."""
    with opened(path) as (writer, descriptor):
        writer.copies = WalCopies(path, descriptor) if has_copies else None
        before = Path(path).read_bytes()
        say(writer, "b", 0)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.executescript("BEGIN; SELECT count(*) FROM said")
            say(writer, "c", 10)
            assert 0 < checkpoint(writer).left
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        os.pwrite(descriptor, before, 0)
        later(writer)  # type: ignore[operator]  # one of three functions

        expected = {"a": 80, "b": 10, "c": 10}
        assert (expected == on_the_disk(path, tmp_path)) is has_copies
        assert expected == letters(writer) or not has_copies


class OnFullDisk(Writer):
    """A connection whose checkpoints find no room."""

    def execute(self, *_: object) -> sqlite3.Cursor:
        """Fail."""
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


def test_a_full_disk(path: str) -> None:
    """It loses nothing, so that the WAL is not written again at each try."""
    with opened(path) as (_, descriptor), closing(sqlite3.connect(path, factory=OnFullDisk)) as writer:
        writer.copies = WalCopies(path, descriptor)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            checkpoint(writer)

        assert not writer.copies.is_in_doubt


def test_a_wal_that_is_gone(path: str) -> None:
    """If the first checkpoint failed and there is no WAL any more, there is nothing to copy again."""
    with opened(path) as (writer, descriptor):
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.copies = WalCopies(path, descriptor)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)

        checkpoint(writer)


def test_a_wal_that_has_begun_again(path: str, tmp_path: Path) -> None:
    """What was copied from the WAL before is on the disk, and the frames in its place are not copied too early."""
    with opened(path) as (writer, descriptor):
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 0)
        assert 0 == checkpoint(writer).left
        say(writer, "c", 0)  # in the place of the others
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.executescript("BEGIN; SELECT count(*) FROM said")
            say(writer, "d", 10)
            checkpoint(writer)

            assert {"a": 90, "c": 10} == on_the_disk(path, tmp_path)


def test_a_checkpoint_of_another_program(path: str, tmp_path: Path) -> None:
    """What another process has copied since is not overwritten by what was in these pages before."""
    with opened(path) as (writer, descriptor):
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 0)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.executescript("BEGIN; SELECT count(*) FROM said")
            say(writer, "c", 10)
            assert 0 < checkpoint(writer).left
            say(writer, "d", 0)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        checkpoint(writer)

        assert {"a": 80, "c": 10, "d": 10} == on_the_disk(path, tmp_path)


def test_another_program_begins_the_wal_anew(path: str, tmp_path: Path) -> None:
    """Frames of another WAL are copied when their turn comes."""
    with opened(path) as (writer, descriptor):
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 0)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            other.execute("UPDATE said SET text = 'c' WHERE id = 0")
        checkpoint(writer)

        assert {"a": 90, "b": 9, "c": 1} == on_the_disk(path, tmp_path)


class Interrupted(Writer):
    """A connection that lets another one write between a checkpoint and the next transaction."""

    meanwhile: Callable[[], object] | None = None
    has_copied = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Execute a statement."""
        if self.has_copied and sql == "BEGIN IMMEDIATE" and (meanwhile := self.meanwhile) is not None:
            self.meanwhile = None
            meanwhile()
        found = super().execute(sql, *values)
        self.has_copied = "checkpoint" in sql
        return found


@pytest.mark.parametrize("is_copied", [True, False])
def test_another_program_writes_just_before_the_wal_is_copied_again(path: str, tmp_path: Path, is_copied: bool) -> None:
    """What it has written, and perhaps copied, since SQLite has copied the WAL is newer than what is in that."""

    def write() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA wal_autocheckpoint = 0")
            other.execute("UPDATE said SET text = 'c' WHERE id < 10")
            reader.execute("ROLLBACK")
            if is_copied:
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    with opened(path) as (_, descriptor), _connected(path) as writer, _connected(path) as reader:
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 0)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        # So that the other program does not begin the WAL anew.
        reader.executescript("BEGIN; SELECT count(*) FROM said")
        writer.meanwhile = write
        checkpoint(writer)

        with _connected(path) as other:
            assert {"a": 90, "c": 10} == letters(other)
        checkpoint(writer)
        assert {"a": 90, "c": 10} == on_the_disk(path, tmp_path)
        assert not writer.copies.is_in_doubt


@contextmanager
def _connected(path: str) -> Iterator[Interrupted]:
    """Open another connection that makes no checkpoints by itself."""
    with closing(sqlite3.connect(path, isolation_level=None, factory=Interrupted)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        yield connection


def test_a_file_that_became_shorter(path: str) -> None:
    """Pages that the file no longer has stay away."""
    with opened(path) as (writer, descriptor):
        writer.executescript(
            "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL"
        )
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 90)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        writer.execute("DELETE FROM said WHERE id > 10")
        checkpoint(writer)

        ((pages, size),) = writer.execute("SELECT page_count, page_size FROM pragma_page_count, pragma_page_size")
        assert pages * size == os.path.getsize(path) < 30 * size


def test_a_wal_that_was_not_synced(path: str) -> None:
    """The WAL is written again, once, before it is copied: its own sync may be what failed."""
    with opened(path) as (writer, descriptor), closing(sqlite3.connect(path, isolation_level=None)) as reader:
        writer.copies = WalCopies(path, descriptor)
        say(writer, "b", 0)
        reader.executescript("BEGIN; SELECT count(*) FROM said")
        say(writer, "c", 10)
        with failing(writer), pytest.raises(sqlite3.DatabaseError):
            checkpoint(writer)
        written = []
        for _ in range(2):
            os.utime(f"{path}-wal", (0, 0))
            content = Path(f"{path}-wal").read_bytes()
            assert 0 < checkpoint(writer).left
            assert content == Path(f"{path}-wal").read_bytes()
            written.append(os.stat(f"{path}-wal").st_mtime > 0)

        assert [True, False] == written


async def test_a_store_that_is_closed(path: str) -> None:
    """What is in doubt is copied again before SQLite removes the WAL."""
    async with open_store(path) as store:
        await write(store, made(1))
        await store.writer.checkpoint()
        ground = store.engine.ground
        assert ground is not None
        before = content(path)
        await write(store, said(1, event(2, content="x" * 20_000)))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.executescript("BEGIN; SELECT count(*) FROM events")
            await write(store, said(1, event(3)))
            await store.writer.checkpoint()
        await store._database.run(_fail_once)
        os.pwrite(ground.descriptor, before, 0)

    assert 0 == wal_bytes(path)
    assert [(3, 20_000)] == query(path, "SELECT count(*), max(length(replace(content, char(0), ''))) FROM events")


async def test_a_store_whose_checkpoints_fail_to_the_end(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its WAL stays, with all that may not be in the file, although SQLite removes a WAL that it could copy."""
    monkeypatch.setattr(file_engine, "_never_closed", [])
    async with open_store(path) as store:
        await write(store, made(1, event(2, content="x" * 20_000)))
        await store._database.run(lambda writer: writer.set_authorizer(_no_pragma))

    assert wal_bytes(path)
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", tmp_path / f"copy.db{suffix}")
    (kept,) = file_engine._never_closed
    kept.close()
    assert [(2,)] == query(str(tmp_path / "copy.db"), "SELECT count(*) FROM events")
    assert "its WAL stays" in caplog.text


def _no_pragma(action: int, *_: object) -> int:
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_PRAGMA else sqlite3.SQLITE_OK


def content(path: str) -> bytes:
    """Return the bytes of a file."""
    return Path(path).read_bytes()


def wal_bytes(path: str) -> int:
    """Return the size of the WAL in bytes, or 0 if it does not exist."""
    return size(f"{path}-wal") if os.path.exists(f"{path}-wal") else 0


def _fail_once(writer: sqlite3.Connection) -> None:
    with failing(writer), pytest.raises(sqlite3.DatabaseError):
        checkpoint(writer)
