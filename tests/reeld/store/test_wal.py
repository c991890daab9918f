"""Checkpoints of the WAL, and which other process reads the database, as far as the system says who."""

import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count, pairwise
from pathlib import Path

import pytest

from reeld.store import wal
from reeld.store.schema import NORMAL, prepare
from reeld.store.wal import (
    checkpoint,
    lengthen_wal,
    opened_by,
    restart_wal,
    truncate_wal,
    wal_readers,
    written_pages,
)
from reeld.store.wal_format import FRAME_SIZE
from tests.other_process import other_process

pytestmark = pytest.mark.file

linux = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux lists locks")


def test_a_checkpoint_says_what_is_left(path: str) -> None:
    """A checkpoint copies everything that no reader needs, and counts the rest."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM agents").fetchall()
            connection.execute("PRAGMA user_version = 1")
            blocked = checkpoint(connection)
        free = checkpoint(connection)

    assert (True, 0) == (blocked.left > 0, free.left)
    assert blocked.frames == free.frames > 0


def test_a_wal_is_not_begun_anew_under_a_reader(path: str) -> None:
    """A checkpoint waits for readers of the WAL up to a limit, and leaves the connection as it was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("PRAGMA user_version = 1")
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM agents").fetchall()
            blocked = restart_wal(connection, 1)
        free = restart_wal(connection, 1)

        assert (False, True, (5000,)) == (blocked, free, connection.execute("PRAGMA busy_timeout").fetchone())


def test_a_wal_shrinks_when_it_is_overwritten(path: str) -> None:
    """The file of a WAL that a large commit has made long is cut by the first commit that overwrites it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("CREATE TABLE large (bytes)")
        connection.execute("INSERT INTO large VALUES (zeroblob(20000000))")
        wal_file = Path(f"{path}-wal")
        before = wal_file.stat().st_size
        checkpoint(connection)
        connection.execute("PRAGMA user_version = 1")

        assert wal_file.stat().st_size <= 16 << 20 < before


def _pages_of(path: str) -> set[int]:
    return written_pages(f"{path}-wal")


@pytest.mark.parametrize("reads", range(3))
def test_a_wal_that_is_emptied_while_it_is_read(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """What was read before another process emptied it is known."""
    copy, calls, read = tmp_path / "copy-wal", count(), os.pread

    def empty(descriptor: int, size: int, at: int) -> bytes:
        if next(calls) == reads:
            os.truncate(copy, 0)
        return read(descriptor, size, at)

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        shutil.copyfile(f"{path}-wal", copy)
        monkeypatch.setattr(os, "pread", empty)

        assert max(0, reads - 1) == len(written_pages(str(copy)))


@pytest.mark.parametrize("is_empty", [False, True], ids=["begun", "empty"])
def test_zeros_behind_a_wal_mean_nothing(path: str, tmp_path: Path, is_empty: bool) -> None:
    """A WAL that was lengthened has the same commits, and later ones, also for who finds it after a crash."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        if is_empty:
            assert truncate_wal(connection, 0)
        before = _pages_of(path)
        while lengthen_wal(connection, f"{path}-wal"):
            pass
        long, after = Path(f"{path}-wal").stat().st_size, _pages_of(path)
        connection.execute("CREATE TABLE later (number)")
        connection.execute("INSERT INTO later VALUES (7)")
        copy = str(tmp_path / "copy.db")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        with closing(sqlite3.connect(copy)) as recovered:
            found = recovered.execute("SELECT number FROM later").fetchall()
            health = recovered.execute("PRAGMA integrity_check").fetchall()

    assert (wal._FRAMES * (FRAME_SIZE + 4096), before) == (long, after)
    assert ([(7,)], [("ok",)]) == (found, health)


def test_a_wal_is_lengthened_by_a_step(path: str) -> None:
    """Those who wait to commit do not wait for all of it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        sizes = [Path(f"{path}-wal").stat().st_size]
        while lengthen_wal(connection, f"{path}-wal"):
            sizes.append(Path(f"{path}-wal").stat().st_size)

    assert {len(wal._ZEROS)} == {after - before for before, after in pairwise(sizes)}


def test_a_long_wal_is_not_lengthened(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WAL that is as long already stays as it is, to the byte."""
    monkeypatch.setattr(wal, "_FRAMES", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        before = Path(f"{path}-wal").read_bytes()
        is_short = lengthen_wal(connection, f"{path}-wal")

        assert not is_short
        assert FRAME_SIZE + 4096 < len(before)
        assert before == Path(f"{path}-wal").read_bytes()


def test_what_keeps_a_wal_from_being_lengthened(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither another process that writes, nor a full disk, nor a file that is gone matters to anybody."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("PRAGMA busy_timeout = 3600000")  # it waits for no lock
        before = Path(f"{path}-wal").stat().st_size
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            lengthen_wal(connection, f"{path}-wal")
        lengthen_wal(connection, f"{path}-gone")
        with refusing(connection, sqlite3.SQLITE_TRANSACTION):
            lengthen_wal(connection, f"{path}-wal")
        monkeypatch.setattr(wal, "MARGIN", 1 << 60)
        lengthen_wal(connection, f"{path}-wal")

        assert (before, False) == (Path(f"{path}-wal").stat().st_size, connection.in_transaction)
        assert (3_600_000,) == connection.execute("PRAGMA busy_timeout").fetchone()


@contextmanager
def refusing(connection: sqlite3.Connection, action: int) -> Iterator[None]:
    """Let statements of a kind fail with another error than those of a disk or a lock."""
    connection.set_authorizer(lambda asked, *_: sqlite3.SQLITE_DENY if asked == action else sqlite3.SQLITE_OK)
    try:
        yield
    finally:
        connection.set_authorizer(None)


def test_room_that_ends_while_a_wal_is_lengthened(path: str) -> None:
    """What has been taken of a quota is given back, and commits go on."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        before = Path(f"{path}-wal").read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + len(wal._ZEROS) // 2, hard))
        try:
            lengthen_wal(connection, f"{path}-wal")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        assert before == Path(f"{path}-wal").read_bytes()
        connection.execute("CREATE TABLE later (number)")


def test_a_wal_of_commits_that_are_not_synced(path: str) -> None:
    """No commit gains anything by a longer WAL if none waits for the disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path, NORMAL)
        before = Path(f"{path}-wal").stat().st_size
        lengthen_wal(connection, f"{path}-wal")

        assert before == Path(f"{path}-wal").stat().st_size


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[str]:
    """The path of a database that is open here."""
    path = str(tmp_path / "r.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM agents").fetchall()
        yield path


@linux
def test_a_process_that_reads(opened: str) -> None:
    """A process is found while its transaction is open; one that only has the file open is not, nor are we."""
    with other_process(opened, reads=False):
        assert [] == wal_readers(opened)
        with other_process(opened, reads=True) as first, other_process(opened, reads=True) as second:
            assert {first, second} == set(wal_readers(opened))

        assert [] == wal_readers(opened)


@linux
def test_a_process_of_our_own(opened: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that fills the search index is not named: nobody is to end it."""
    with other_process(opened, reads=True) as reader:
        monkeypatch.setattr(wal, "own_processes", {int(reader.rpartition(" ")[2].rstrip(")"))})

        assert [] == wal_readers(opened)


@linux
def test_a_file_system_with_two_devices(opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On btrfs and overlayfs the lock's device is not the file's; the process must have the file open then."""
    with other_process(opened, reads=True) as reader:
        pid, inode = reader.rpartition(" ")[2].rstrip(")"), Path(f"{opened}-shm").stat().st_ino
        locks = tmp_path / "locks"
        locks.write_text(
            f"1: POSIX  ADVISORY  READ {pid} ff:fe:{inode} 127 128\n"
            f"2: POSIX  ADVISORY  READ {os.getppid()} ff:fe:{inode} 124 124\n"
            f"2: -> POSIX  ADVISORY  WRITE 1 ff:fe:{inode} 124 124\n"
            f"3: FLOCK  ADVISORY  WRITE 1 ff:fe:{inode} 0 EOF\n"
            f"4: OFDLCK ADVISORY  READ -1 ff:fe:{inode} 124 124\n"
            f"5: POSIX  ADVISORY  READ {pid} ff:fe:{inode} 128 128\n"
        )
        monkeypatch.setattr(wal, "_LOCKS", locks)

        assert [reader] == wal_readers(opened)


@linux
@pytest.mark.parametrize("text", ["nonsense\n", "1: POSIX ADVISORY READ x ff:fe:y 124 124\n", ""])
def test_locks_that_cannot_be_understood(
    opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """If the system says something else, nobody is named, and nothing fails."""
    (tmp_path / "locks").write_text(text)
    monkeypatch.setattr(wal, "_LOCKS", tmp_path / "locks")

    assert [] == wal_readers(opened)


@linux
def test_no_database(tmp_path: Path) -> None:
    """If there is no file, nobody reads it."""
    assert [] == wal_readers(str(tmp_path / "none"))


@linux
def test_a_mac(opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc lsof is asked, which need not be there."""
    monkeypatch.setattr(wal, "_LOCKS", tmp_path / "none")
    monkeypatch.setattr(wal, "_PROC", tmp_path)
    lsof = tmp_path / "lsof"
    lsof.write_text(f'#!/bin/sh\n[ "$3" = "{opened}-shm" ] && echo 4242 && echo {os.getpid()}\n')
    lsof.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ["a process (pid 4242)"] == wal_readers(opened)

    lsof.unlink()
    assert [] == wal_readers(opened)


@linux
def test_who_has_a_database_open(opened: str) -> None:
    """A process has it open whether it reads or not."""
    with other_process(opened, reads=True) as first, other_process(opened, reads=False) as second:
        pids = {int(each.rpartition(" ")[2].rstrip(")")) for each in (first, second)}

        assert pids <= set(opened_by(opened))
    assert not pids & set(opened_by(opened))
