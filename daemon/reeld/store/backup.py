"""Writing a copy of the database into a new file: a job for a reading connection.

``VACUUM INTO`` reads one state of the database, whatever is written meanwhile. The backup interface of SQLite begins
again at each commit of another connection: under writes it did not end in 45 s where this took 2 s.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from reel.errors import Cancelled, InvalidParams, Storage
from reeld.store.presence import sync_descriptor

_MODE = 0o600
# What a database and its daemon name their files, behind the path.
_OWN = ("", "-wal", "-shm", "-journal", ".lock")
# Steps of SQLite between two looks at whether anybody still wants the copy.
_STEPS = 20_000


def write_backup(connection: sqlite3.Connection, path: str, *, abandoned: Callable[[], bool]) -> int:
    """Write a copy that is complete and synced before it has its name; return its size in bytes.

    Args:
        connection: a reading connection.
        path: the new file, an absolute path.
        abandoned: asked again and again; once it returns true, the copy is given up.

    Raises:
        Cancelled: it was given up; nothing is left of it.
        InvalidParams: there is a file of this name.
        Storage: the copy cannot be written; nothing is left of it.
    """
    _require_new(path)
    directory = os.path.dirname(path)  # noqa: PTH120 - a Path would drop a slash at the end
    with _explained(path), TemporaryDirectory(prefix=".reel-backup-", dir=directory) as place:
        part = f"{place}/part"
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
        connection.set_progress_handler(abandoned, _STEPS)
        try:
            connection.execute("VACUUM INTO ?", (part,))
        finally:
            connection.set_progress_handler(None, 0)
        sync(part)
        size = os.stat(part).st_size  # noqa: PTH116 - as above
        if abandoned():
            raise Cancelled(f"nobody waits for the copy {path} any more")
        _require_new(path)  # it may have appeared meanwhile
        os.rename(part, path)  # noqa: PTH104 - as above
        sync(directory)
    return size


def require_foreign(path: str, database: str) -> None:
    """Refuse the names of the database and of its companions.

    A copy beside the WAL of a removed database would be read together with that WAL, and damaged by it.

    Raises:
        InvalidParams: it is one of them.
    """
    if os.path.realpath(path) in {os.path.realpath(f"{database}{suffix}") for suffix in _OWN}:
        raise InvalidParams(f"path: {path} belongs to the database; name another file", field="path")


def _require_new(path: str) -> None:
    if os.path.lexists(path):
        raise InvalidParams(f"path: {path} exists; name a new file", field="path")


@contextmanager
def _explained(path: str) -> Iterator[None]:
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
