"""Writing a copy of the database into a new file: a job for a reading connection.

``VACUUM INTO`` reads one snapshot of the database, whatever is written meanwhile. SQLite's backup API restarts at each
commit of another connection: under writes it did not finish in 45 s where this took 2 s.

A backup is always complete, never incremental. Copying a million events took 2 to 6 s, and checking the copy 19 to 43
s; an incremental backup would need the same check. It would also keep what was erased meanwhile.

Before a database of an older version is migrated, a copy is kept beside it: the way back to that version.
"""

import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import mkdtemp

from reel.base.errors import Cancelled, InvalidParams, Storage
from reeld.store.presence import sync_descriptor
from reeld.store.room import MARGIN, require_room, size_of
from reeld.store.unavailable import Unavailable

log = logging.getLogger(__name__)

_MODE = 0o600
# The prefix of the name of an unfinished copy's directory.
PART_PREFIX = ".reel-backup-"
# The suffixes of the files of a database and its daemon.
_OWN = ("", "-wal", "-shm", "-journal", ".lock")
# Steps of SQLite between two checks whether the copy was abandoned.
_STEPS = 20_000
# Seconds between two progress lines in the log. A client that has started the daemon waits for as long as new ones
# appear.
_REPORT_EVERY = 5.0


class Copy:
    """A copy in progress: written and synced in a temporary directory beside the destination, and then given its name.

    Args:
        path: the new file, an absolute path.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        # The approximate size of the copy in bytes; 0 until it is begun.
        self.expected = 0
        self._place: str | None = None

    @property
    def part(self) -> str:
        """The temporary file."""
        return f"{self._place}/part"

    @property
    def written(self) -> int:
        """How many bytes the copy has so far."""
        return size_of(self.part) or 0

    def write(self, connection: sqlite3.Connection, *, abandoned: Callable[[], bool]) -> int:
        """Write and sync everything that is committed; return the size in bytes.

        Args:
            abandoned: polled; once it returns true, the copy is abandoned.

        Raises:
            Cancelled: it was abandoned.
            InvalidParams: there is a file of this name.
            Storage: the copy cannot be written.
        """
        _require_new(self.path)
        try:
            with _as_storage(self.path):
                self._begin(connection)
                connection.set_progress_handler(abandoned, _STEPS)
                try:
                    connection.execute("VACUUM INTO ?", (self.part,))
                finally:
                    connection.set_progress_handler(None, 0)
                sync(self.part)
        except BaseException:
            self.clear_away()
            raise
        if abandoned():
            self.clear_away()
            raise Cancelled(f"nobody waits for the copy {self.path} any more")
        return self.written

    def _begin(self, connection: sqlite3.Connection) -> None:
        self.expected = file_size(connection)
        directory = os.path.dirname(self.path)
        require_room(directory, self.expected + MARGIN, f"no copy was written to {self.path}")
        self._place = mkdtemp(prefix=PART_PREFIX, dir=directory)
        os.close(os.open(self.part, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))

    def give_name(self) -> None:
        """Give the copy its name. No temporary file is left, whether this succeeds or not.

        Raises:
            InvalidParams: there is a file of this name by now.
            Storage: it is not possible.
        """
        try:
            with _as_storage(self.path):
                self._link()
                sync(os.path.dirname(self.path))
        finally:
            self.clear_away()

    def _link(self) -> None:
        try:
            os.link(self.part, self.path)
        except OSError:  # there is such a file, or the file system has no hard links
            _require_new(self.path)
            os.rename(self.part, self.path)

    def clear_away(self) -> None:
        """Remove the copy if it does not have its name yet."""
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)


def require_foreign(path: str, database: str) -> None:
    """Refuse the names of the database and of its companions.

    A copy beside the WAL of a removed database would be read together with that WAL, and damaged by it. Another name of
    the database is refused as well: closing a descriptor of that file would end SQLite's locks.

    Raises:
        InvalidParams: it is one of them.
    """
    own = {os.path.realpath(f"{database}{suffix}") for suffix in _OWN}
    if os.path.realpath(path) in own or _is_same_file(path, database):
        raise InvalidParams(f"path: {path} belongs to the database; name another file", field="path")


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _require_new(path: str) -> None:
    if os.path.lexists(path):
        raise InvalidParams(f"path: {path} exists; name a new file", field="path")


def file_size(connection: sqlite3.Connection) -> int:
    """Return the bytes of a database without its free pages."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


@contextmanager
def _as_storage(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise Storage(f"no copy was written to {path}: {reason}") from error


def sync(path: str) -> None:
    """Wait until the content of a file, or of a directory, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def keep_copy(connection: sqlite3.Connection, path: str, version: int) -> str:
    """Copy a database beside itself, unless that was done at an earlier start; return the path of the copy.

    Its name contains the id of the newest event. So repeated interrupted starts keep only one copy, also if they had
    already migrated the file to a version in between; and a file to which the older version has written since is copied
    again.

    Args:
        path: the database.
        version: its version.

    Raises:
        Unavailable: there is no room for the copy.
        Storage: the copy cannot be written; it says what to do.
    """
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    stem = path.removesuffix(".db")
    for earlier in range(1, version + 1):
        kept = f"{stem}-version-{earlier}-event-{newest}.db"
        if os.path.lexists(kept):
            return kept
    copy, reported = Copy(kept), time.monotonic()

    def report() -> bool:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT_EVERY:
            reported = time.monotonic()
            log.warning("%d of %d MB are copied to %s", copy.written >> 20, copy.expected >> 20, kept)
        return False

    try:
        copy.write(connection, abandoned=report)
        copy.give_name()
    except Storage as error:
        kind = Unavailable if isinstance(error, Unavailable) else Storage
        raise kind(
            f"{error.message}; a database of an older version is only changed once there is a copy to go back to:"
            " make room on its disk, and start again"
        ) from error
    return kept
