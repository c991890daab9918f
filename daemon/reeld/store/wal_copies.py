"""Copies a WAL again after a checkpoint has failed: what that one wrote, or one before it, may not be on the disk.

A checkpoint that a reader keeps from copying everything ends without a sync, and SQLite counts what it has copied as
done. If the sync of a later checkpoint fails, the system forgets all pages that were to be written, also those of the
earlier one (https://wiki.postgresql.org/wiki/Fsync_Errors). The next checkpoint copies the rest, its sync succeeds, and
the WAL begins again: then what the earlier one copied is nowhere on the disk. It is still in memory, so nobody notices
before the power fails. The same goes for the WAL, if its own sync fails: commits need not have been synced one by one.

So after a failure, the WAL is first written again. Then SQLite copies it to its end. Now the file has the newest frame
of each page, also if another program has copied some of them. So to copy these frames once more changes nothing that
anybody reads. Only after that may the WAL begin anew.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from reeld.store.presence import sync_descriptor
from reeld.store.wal_format import FRAME, FRAME_SIZE, FRAMES_AT, HEADER, HEADER_AT

_PASSIVE = "PRAGMA main.wal_checkpoint(PASSIVE)"
# Bytes of the WAL that are written again at once.
_PIECE = 1 << 20


class WalCopies:
    """Makes the checkpoints of one connection.

    Args:
        path: the database.
        descriptor: of the database. None is opened here: closing it would end SQLite's locks.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self._wal = f"{path}-wal"
        self._descriptor = descriptor
        # Whether a checkpoint has failed, and its WAL has not been copied again since.
        self.is_in_doubt = False
        # Whether the WAL itself was not written again since.
        self._is_wal_in_doubt = False

    def run(self, connection: sqlite3.Connection, statement: str) -> tuple[int, int, int]:
        """Make a checkpoint; first write and copy again what may have been lost.

        Args:
            connection: the connection.
            statement: the statement that makes it.

        Returns:
            whether it was kept from something, and how many frames the WAL has and were copied.

        Raises:
            sqlite3.Error: it failed.
        """
        if self.is_in_doubt:
            try:
                kept = self._run_in_doubt(connection)
            except FileNotFoundError:  # there is no WAL, so all of it was copied
                kept = None
            except OSError as error:
                raise sqlite3.OperationalError(f"the WAL cannot be copied again: {error}") from error
            if kept is not None:
                return kept
        self.is_in_doubt = False
        return self._checkpoint(connection, statement)

    def _checkpoint(self, connection: sqlite3.Connection, statement: str) -> tuple[int, int, int]:
        try:
            busy, frames, copied = connection.execute(statement).fetchone()
        except BaseException as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:  # on a full disk nothing is lost
                self.is_in_doubt = self._is_wal_in_doubt = True
            raise
        return busy, frames, copied

    def _run_in_doubt(self, connection: sqlite3.Connection) -> tuple[int, int, int] | None:
        """Copy the WAL, and all of it again; return what :meth:`run` does if something is left that was not copied."""
        if self._is_wal_in_doubt:
            with _alone(connection):
                self._write_again()
            self._is_wal_in_doubt = False
        before, version = self._header(), _version(connection)
        _, frames, copied = self._checkpoint(connection, _PASSIVE)
        if copied < frames or copied < 0:  # less than 0 if another checkpoint is under way
            return 1, frames, copied
        with _alone(connection):
            # Another process may have written since. If it began the WAL anew, there is nothing left to copy. If it
            # did not, it may have copied pages that are newer than these frames.
            if frames and before == self._header():
                if version != _version(connection):
                    return 1, frames, copied
                self._copy_again(before, frames)
        return None

    def _header(self) -> tuple[int, bytes]:
        """Return the size of the WAL's pages and its salts; 0 and nothing if it is empty."""
        with self._opened(os.O_RDONLY) as wal:
            header = os.pread(wal, HEADER.size, HEADER_AT)
        return HEADER.unpack(header) if len(header) == HEADER.size else (0, b"")

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        """Open the WAL until the block ends; SQLite has no lock on it."""
        descriptor = os.open(self._wal, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _write_again(self) -> None:
        with self._opened(os.O_RDWR) as wal:
            for at in range(0, os.fstat(wal).st_size, _PIECE):
                _write(wal, os.pread(wal, _PIECE, at), at)
            sync_descriptor(wal)

    def _copy_again(self, header: tuple[int, bytes], frames: int) -> None:
        """Write the newest frame of each page into the database, and sync it."""
        size, _ = header
        newest: dict[int, int] = {}
        pages = 0
        with self._opened(os.O_RDONLY) as wal:
            for number in range(frames):
                at = FRAMES_AT + number * (FRAME_SIZE + size)
                page, pages, _ = FRAME.unpack(os.pread(wal, FRAME.size, at))
                newest[page] = at + FRAME_SIZE
            for page, at in newest.items():
                if page <= pages:  # the last commit may have made the file shorter
                    _write(self._descriptor, os.pread(wal, size, at), (page - 1) * size)
        sync_descriptor(self._descriptor)


@contextmanager
def _alone(connection: sqlite3.Connection) -> Iterator[None]:
    """Keep others from writing during the block."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    """Return a number that is another one after each commit of other connections."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def _write(descriptor: int, content: bytes, at: int) -> None:
    if os.pwrite(descriptor, content, at) < len(content):
        raise OSError("there is no room")
