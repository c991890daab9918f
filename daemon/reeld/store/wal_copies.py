"""What was copied from the WAL into the file and may not be on the disk: it is copied again after a sync has failed.

A checkpoint that a reader keeps from copying everything ends without a sync, and SQLite counts what it has copied as
done. If the sync of a later checkpoint fails, the system forgets all pages that were to be written, also those of the
earlier one (https://wiki.postgresql.org/wiki/Fsync_Errors). The next checkpoint copies the rest, its sync succeeds, and
the WAL begins again: then what the earlier one copied is nowhere on the disk. It is still in memory, so nobody notices
before the power fails.
"""

import os
import sqlite3

from reel.base.light_typing import NamedTuple
from reeld.store.wal_format import FRAME, FRAME_SIZE, FRAMES_AT, HEADER, HEADER_AT


class _Copied(NamedTuple):
    """How many frames of a WAL were copied; its salts tell it from the one before it in the same file."""

    salts: bytes
    frames: int


class WalCopies:
    """Notes what the checkpoints of one connection copy; no other one makes any.

    Args:
        path: the database.
        descriptor: of the database. None is opened here: closing it would end SQLite's locks.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self._wal = f"{path}-wal"
        self._descriptor = descriptor
        self._copied = _Copied(b"", 0)
        self._is_in_doubt = False

    def run(self, connection: sqlite3.Connection, statement: str) -> tuple[int, int, int]:
        """Make a checkpoint; first copy again what may have been lost.

        Args:
            connection: the connection.
            statement: the statement that makes it.

        Returns:
            whether it was kept from something, and how many frames the WAL has and were copied.

        Raises:
            sqlite3.Error: it failed.
        """
        if self._is_in_doubt:
            try:
                self._copy_again()
            except OSError as error:
                raise sqlite3.OperationalError(f"the WAL cannot be copied again: {error}") from error
        self._is_in_doubt = True
        busy, frames, done = connection.execute(statement).fetchone()
        self._is_in_doubt = False
        if done >= 0:  # it is -1 if another checkpoint is under way
            self._copied = _Copied(self._salts()[1], done)
        return busy, frames, done

    def _salts(self) -> tuple[int, bytes]:
        """Return the size of the WAL's pages and its salts; 0 and nothing if it is empty."""
        try:
            descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0, b""
        try:
            header = os.pread(descriptor, HEADER.size, HEADER_AT)
        finally:
            os.close(descriptor)
        return HEADER.unpack(header) if len(header) == HEADER.size else (0, b"")

    def _copy_again(self) -> None:
        """Write the newest of the copied frames of each page into the database; the next checkpoint syncs it.

        To readers it says nothing new: where they look into the file rather than the WAL, these pages have been before.
        """
        size, salts = self._salts()
        # If another WAL has begun since, all of the one before was copied and synced.
        if not self._copied.frames or salts != self._copied.salts:
            return
        descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        try:
            newest: dict[int, int] = {}
            for number in range(self._copied.frames):
                at = FRAMES_AT + number * (FRAME_SIZE + size)
                page, _ = FRAME.unpack(os.pread(descriptor, FRAME.size, at))
                newest[page] = at + FRAME_SIZE
            for page, at in newest.items():
                content = os.pread(descriptor, size, at)
                if os.pwrite(self._descriptor, content, (page - 1) * size) < size:
                    raise OSError("there is no room")
        finally:
            os.close(descriptor)
