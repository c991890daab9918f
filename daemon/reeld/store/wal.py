"""The WAL: copying it into the database, and finding other processes that prevent it.

A long read transaction makes the WAL grow: frames that were written after it began cannot be checkpointed, or cannot be
overwritten, until it ends.
"""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reeld.store.room import MARGIN, free_room
from reeld.store.wal_copies import WalCopies
from reeld.store.wal_format import FRAME, FRAME_SIZE, FRAMES_AT, HEADER, HEADER_AT

_PROC = Path("/proc")
_LOCKS = _PROC / "locks"
# A reader locks one of these bytes of the ``-shm`` while its transaction is open, and every process the next byte while
# it has the file open (SQLite's wal.c and os_unix.c). Adjacent locks are listed as one.
_READ, _OPEN = range(123, 128), range(128, 129)
# The frames of a WAL at the first checkpoint, if commits are small: 5.3 pages each, and 250 of them.
_FRAMES = 1_360
# As many bytes are appended at once, while commits wait.
_ZEROS = bytes(1 << 20)
# What ``PRAGMA synchronous`` has from which on each commit is synced: without that, none is faster in a longer WAL.
_FULL = 2
# How often a checkpoint is tried before a file is closed.
_TRIES = 5
# Seconds between two tries to overwrite the WAL.
_AGAIN = 0.002
# The time limit for lsof in seconds.
_PATIENCE = 5.0
# The processes that belong to this one: they read for a moment at a time, and are not to be named.
own_processes: set[int] = set()


class Wal(NamedTuple):
    """The number of frames in the WAL, how many of them are not checkpointed yet, and the bytes of their pages."""

    frames: int
    left: int
    size: int


def checkpoint(connection: sqlite3.Connection) -> Wal:
    """Copy the WAL into the file, as far as readers allow.

    Passive and without truncation: a commit is twice as fast if it overwrites the WAL as if the WAL grows. The next
    commit overwrites it from its beginning if all of it has been copied and nobody reads it.
    """
    _busy, frames, done = _run(connection, "PASSIVE")
    return Wal(frames, frames - done, frames * page_size(connection))


def page_size(connection: sqlite3.Connection) -> int:
    """Return how many bytes a page of the file has: 4096, unless somebody has changed it."""
    (found,) = connection.execute("PRAGMA main.page_size").fetchone()
    return int(found)


def _run(connection: sqlite3.Connection, mode: str) -> tuple[int, int, int]:
    """Make a checkpoint; return whether it was kept from something, and the frames in the WAL and those copied."""
    statement = f"PRAGMA main.wal_checkpoint({mode})"
    copies: WalCopies | None = getattr(connection, "copies", None)
    if copies is not None:
        return copies.run(connection, statement)
    busy, frames, done = connection.execute(statement).fetchone()
    return busy, frames, done


def try_checkpoint(connection: sqlite3.Connection) -> None:
    """Copy the WAL into the file as far as that is possible: on a full disk, the WAL goes on growing."""
    with suppress(sqlite3.Error):
        checkpoint(connection)


def checkpoint_at_the_end(connection: sqlite3.Connection) -> bool:
    """Copy the WAL before the connection is closed; return whether nothing of it may have been lost.

    SQLite does so itself, and removes the WAL, but does not write again what a failed sync has lost.
    """
    copies: WalCopies | None = getattr(connection, "copies", None)
    for _ in range(_TRIES):  # a disk that fails for a moment, which the system tells with each descriptor
        try_checkpoint(connection)
        if copies is None or not copies.is_in_doubt:
            return True
    return False


def restart_wal(connection: sqlite3.Connection, patience: int) -> bool:
    """Wait until nobody reads the WAL, so that it can be overwritten; return whether that succeeded.

    Args:
        patience: how long to wait for readers, in milliseconds; nothing is committed meanwhile.
    """
    return _wait_for_readers(connection, "RESTART", patience)


def truncate_wal(connection: sqlite3.Connection, patience: int) -> bool:
    """Copy the WAL into the file and empty it; return whether no reader prevented it.

    Args:
        patience: how long to wait for readers, in milliseconds; nothing is committed meanwhile.
    """
    return _wait_for_readers(connection, "TRUNCATE", patience)


def _wait_for_readers(connection: sqlite3.Connection, mode: str, patience: int) -> bool:
    """Try again and again, instead of with SQLite's own timeout.

    SQLite would wait for one place in its table of readers, which a thread that reads all the time takes again and
    again, though it reads the newest state by then and would be in nobody's way: beside a replay of 10^6 messages it
    waited 250 ms in vain. A new try sees what has changed.
    """
    deadline = time.monotonic() + patience / 1000
    with _without_waiting(connection):
        while True:
            busy, *_ = _run(connection, mode)
            if not busy or time.monotonic() >= deadline:
                return not busy
            time.sleep(_AGAIN)


@contextmanager
def _without_waiting(connection: sqlite3.Connection) -> Iterator[None]:
    """Let statements of the block fail, rather than wait for a lock."""
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")


def lengthen_wal(connection: sqlite3.Connection, wal: str) -> bool:
    """Append zeros to the WAL, so that commits overwrite it from now on: until the first checkpoint it would grow.

    Return whether it is not long enough yet: to sync all of them at once would take 10 ms, and 50 on a busy disk.

    The system syncs a file that grows with its metadata: 180 us instead of 120 on ext4, and a third less CPU. Room that
    is reserved without being written (fallocate) is no better.

    SQLite reads a WAL up to the first frame that does not have its salts, so it takes no notice of the zeros. Only a
    process that has begun to write may append to it. If anything is in the way, the WAL stays as it is: commits are
    slower then, and no more.

    Args:
        connection: the writing connection; no transaction is open.
        wal: the path of the WAL.
    """
    with suppress(OSError, sqlite3.Error, MemoryError):
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        length = _FRAMES * (FRAME_SIZE + page_size(connection))
        if synchronous < _FULL or free_room(wal) < length + MARGIN:
            return False
        with _without_waiting(connection):
            connection.execute("BEGIN IMMEDIATE")
        try:
            descriptor = os.open(wal, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return _append_zeros(descriptor, length)
            finally:
                os.close(descriptor)
        finally:
            connection.execute("ROLLBACK")
    return False


def _append_zeros(descriptor: int, length: int) -> bool:
    at = size = os.fstat(descriptor).st_size
    end = min(size + len(_ZEROS), length)
    try:
        while at < end:
            at += os.pwrite(descriptor, _ZEROS[: end - at], at)
        os.fsync(descriptor)  # here rather than by the next commit, which would take that much longer
    except OSError:
        os.ftruncate(descriptor, size)  # the file may need the room: its owner's quota is no part of what is free
        raise
    return end < length


def written_pages(wal: str) -> set[int]:
    """Return the pages that were written since the WAL began, also by transactions that were rolled back.

    SQLite has no lock on a WAL, so it may be opened and closed beside it.

    Raises:
        OSError: it cannot be read.
    """
    found: set[int] = set()
    descriptor = os.open(wal, os.O_RDONLY | os.O_CLOEXEC)
    try:
        at, header = FRAMES_AT, os.pread(descriptor, HEADER.size, HEADER_AT)
        # It may be empty, and another process may empty it meanwhile.
        while len(header + (frame := os.pread(descriptor, FRAME.size, at))) == HEADER.size + FRAME.size:
            page_size, salts = HEADER.unpack(header)
            page, _, own = FRAME.unpack(frame)
            if own != salts or not page:  # it is of an earlier WAL, or of zeros, and so are those after it
                break
            found.add(page)
            at += FRAME_SIZE + page_size
    finally:
        os.close(descriptor)
    return found


def wal_readers(database: str) -> list[str]:
    """Return the other processes that have a read transaction open, as far as the system can tell.

    macOS can only tell which processes have the file open.

    Args:
        database: the path of the database.

    Returns:
        for each its program and its pid.
    """
    try:
        pids = set(_lockers(f"{database}-shm", _READ) if _LOCKS.exists() else _openers(f"{database}-shm"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    return [f"{_program(pid)} (pid {pid})" for pid in sorted(pids - {os.getpid(), *own_processes})]


def opened_by(database: str) -> list[int]:
    """Return the processes that have a database with a WAL open.

    Args:
        database: its path.

    Raises:
        OSError: there is no such file, or the system does not list locks: only Linux does.
        ValueError: it lists them in another form.
    """
    return [*_lockers(f"{database}-shm", _OPEN)]


def _lockers(shm: str, at: range) -> Iterator[int]:
    """Yield the processes that hold a read lock on one of some bytes: see proc(5) for the lines of the file."""
    found = os.stat(shm)
    for line in _LOCKS.read_text(encoding="ascii").splitlines():
        # A blocked lock has an arrow before its kind.
        _, kind, *_, mode, pid, file, first, last = line.split()
        major, minor, inode = file.split(":")
        if kind != "POSIX" or mode != "READ" or int(inode) != found.st_ino or last == "EOF":
            continue
        same = (int(major, 16), int(minor, 16)) == (os.major(found.st_dev), os.minor(found.st_dev))
        # On btrfs and overlayfs, a file and its locks have different devices.
        if int(first) < at.stop and int(last) >= at.start and (same or _has_open(int(pid), found)):
            yield int(pid)


def _has_open(pid: int, file: os.stat_result) -> bool:
    """Return whether a process has a file open, as far as Linux can tell."""
    try:
        return any(os.path.samestat(each.stat(), file) for each in (_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False  # it has ended, or belongs to another user


def _openers(shm: str) -> list[int]:
    command = ["lsof", "-t", "--", shm]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)  # noqa: S603 - the system's
    return [int(pid) for pid in ran.stdout.split()]


def _program(pid: int) -> str:
    try:
        name = (_PROC / str(pid) / "comm").read_text(errors="replace").removesuffix("\n")
    except OSError:
        return "a process"
    return "".join(char if char.isprintable() else "?" for char in name)  # a process may choose any name
