"""Checks that the open files of the daemon are still the ones at their paths.

A file that is removed or replaced stays open. Commits to it keep succeeding, and are lost when the process ends. So the
files are checked before each batch and, while nobody writes, once a second. Three calls of ``os.stat`` take 3 us (8 us
on a busy machine), a commit takes 130 us or more. They are made on the event loop's thread while the writer's thread is
idle: each call releases the GIL, and reacquiring it beside a busy loop would cost more than the call.
"""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import copyfileobj
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.store.unavailable import Unavailable

log = logging.getLogger(__name__)

# The device and the inode of a file.
Identity: TypeAlias = tuple[int, int]

_MODE = 0o600
# What file systems say of a call that they do not have.
_UNKNOWN = {errno.ENOTSUP, errno.EINVAL, errno.ENOTTY}

DATABASE, WAL, LOCK = "database", "wal", "lock"

_RESTART = "end this one and start it again: reel stop; reel start"
_REMEDIES = {
    DATABASE: "put back the file that was there, or save everything with `reel backup FILE`; see docs/operations.md",
    WAL: f"what was acknowledged is not lost; {_RESTART}",
    LOCK: f"another reeld could open the database; {_RESTART}",
}


class Held(NamedTuple):
    """What a daemon has locked of a file.

    Args:
        lock: the descriptor of the lock file beside it.
        database: the file itself, which SQLite has to open; ``None`` if it did not exist.
        of_inode: the descriptor of the lock file that is called after it; ``None`` if there is none.
    """

    lock: int
    database: Identity | None
    of_inode: int | None = None


class Displaced(NamedTuple):
    """A file that is no longer at its path.

    ``kind`` is one of ``DATABASE``, ``WAL`` and ``LOCK``, and ``about`` a sentence that says what happened.
    """

    kind: str
    about: str

    def __str__(self) -> str:
        return f"{self.about}; {_REMEDIES[self.kind]}"


class Presence:
    """The files of an open database; :meth:`look` compares them with those at their paths.

    Args:
        path: the database, which is about to be opened, so that a replacement in between is noticed. ``None`` for a
            database on a server, which has no files.
        held: its locks; ``None`` if there are none.
    """

    def __init__(self, path: str | None, held: Held | None = None) -> None:
        # The result of the last check.
        self.displaced: Displaced | None = None
        self.paths: dict[str, str] = {}
        self._known: dict[str, Identity | None] = {}
        self._wal: int | None = None
        self._copy_of_wal: Identity | None = None
        if path is not None:
            self._watch(path, held)

    def _watch(self, path: str, held: Held | None) -> None:
        self.paths = {DATABASE: path, WAL: f"{path}-wal", LOCK: f"{path}.lock"}
        # A file that does not exist yet is recorded when it is first seen. Opening may replace an older WAL.
        self._known = {DATABASE: identity_of(path) if held is None else held.database, WAL: None}
        if held is not None:
            self._known[LOCK] = _identity(os.fstat(held.lock))

    def require_locked(self, opened: int) -> None:
        """Refuse a database that was exchanged after it was locked: another daemon may have the one that is open.

        Args:
            opened: a descriptor that was opened before SQLite opened the database.

        Raises:
            Unavailable: so it is.
        """
        if not self.paths:
            return
        displaced = self._compare(DATABASE)
        if displaced is None and self._known[DATABASE] != _identity(os.fstat(opened)):
            displaced = Displaced(DATABASE, f"another file was put in the place of {self.paths[DATABASE]}")
        if displaced is not None:
            raise Unavailable(f"{displaced.about}; start reeld again")

    @contextmanager
    def hold_wal(self) -> Iterator[None]:
        """Keep the WAL open until the block ends, so that it can be copied after it was removed.

        This is safe because SQLite locks only the database and the ``-shm``; closing any descriptor of a locked file
        would release the lock.
        """
        self._wal = os.open(self.paths[WAL], os.O_RDONLY | os.O_CLOEXEC)
        self._known[WAL] = _identity(os.fstat(self._wal))
        try:
            yield
        finally:
            os.close(self._wal)
            self._wal = None

    def look(self) -> Displaced | None:
        """Return the first file that is no longer at its path; log its disappearance and its return once."""
        displaced = next(filter(None, map(self._compare, self._known)), None)
        if displaced != self.displaced:
            if displaced is None:
                log.warning("every file of the database is at its path again; commands are accepted")
            else:
                log.critical("every command is refused: %s", displaced)
            self.displaced = displaced
        return displaced

    def _compare(self, kind: str) -> Displaced | None:
        path, known = self.paths[kind], self._known[kind]
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None if known is None else _removed(kind, path)
        except OSError as error:
            return Displaced(kind, f"{path} cannot be looked at: {error.strerror}")
        found = _identity(status)
        if known is None:
            self._known[kind] = found
        elif found != known:
            # SQLite makes an empty WAL if a connection is opened when there is none.
            ours = kind == WAL and (found == self._copy_of_wal or not status.st_size)
            return _removed(kind, path) if ours else Displaced(kind, f"another file is in the place of {path}")
        return None

    def copy_wal(self, path: str) -> None:
        """Copy the WAL into a new file, for its owner only, and sync it."""
        assert self._wal is not None  # noqa: S101 - a WAL that is displaced is held
        copy = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with os.fdopen(copy, "wb") as target, os.fdopen(os.dup(self._wal), "rb") as source:
            source.seek(0)
            copyfileobj(source, target, 1 << 20)
            target.flush()
            sync_descriptor(target.fileno())

    def put_wal_back(self, copy: str) -> None:
        """Put a copy of the removed WAL at its path: the next process that opens the database reads it.

        Nothing may be committed from then on: the copy would be older than the database.

        Raises:
            OSError: it is not possible, or a non-empty file is there.
        """
        self._copy_of_wal = _identity(os.stat(copy))
        path = self.paths[WAL]
        try:
            os.link(copy, path)
        except FileExistsError:
            if os.path.getsize(path):
                raise
            os.replace(copy, path)


def sync_descriptor(descriptor: int) -> None:
    """Wait until the content of a file, or of a directory, is on the disk.

    On macOS fsync leaves it in the disk's own cache, which is lost in a power cut (see fcntl(2) there). Some file
    systems know nothing else, such as those on the network.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError as error:
            if error.errno not in _UNKNOWN:
                raise
        else:
            return
    os.fsync(descriptor)


def _removed(kind: str, path: str) -> Displaced:
    return Displaced(kind, f"{path} was removed or moved away while reeld ran")


def identity_of(path: str) -> Identity | None:
    """Return the device and the inode of the file at a path; ``None`` if the file is missing or unreadable."""
    try:
        return _identity(os.stat(path))
    except OSError:
        return None


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
