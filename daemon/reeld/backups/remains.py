"""The working files of a restore beside the database, and the removal of those left by a killed restore.

A restore works in its own directory, and holds a lock on it while it is alive: so the leftovers of a dead restore can
be told from files still in use. The database gets a second name before it is replaced. Nobody may open it by that name
while it is still at its own path: SQLite would look for its WAL under the second name.
"""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel.base.errors import Storage

log = logging.getLogger(__name__)

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Separates the name of a database from the time at which it was replaced.
_BEFORE = "-before-"


@contextmanager
def workplace(database: str) -> Iterator[str]:
    """Create an empty directory beside a database, and remove it when the block ends; yield its path.

    Raises:
        OSError: it cannot be created.
        Storage: another restore of this database is running.
    """
    place = _place_of(database)
    descriptor = _made(place)
    try:
        _empty(place)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(descriptor)


def free_name(database: str) -> str:
    """Return an unused name for a database that is being replaced."""
    stem = f"{_stem(database)}{time.strftime('%Y-%m-%d-%H%M%S')}"
    names = (f"{stem}{f'-{number}' if number else ''}.db" for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def clear_away(database: str) -> None:
    """Remove the leftovers of killed restores; the caller holds the lock on the database.

    Raises:
        OSError: it cannot be removed.
    """
    remove_workplace(database)
    remove_second_names(database)


def remove_workplace(database: str) -> None:
    """Remove the directory of a killed restore, with its copy of a backup; keep that of a running restore.

    Raises:
        OSError: it cannot be removed.
    """
    place = _place_of(database)
    with suppress(FileNotFoundError):
        descriptor = os.open(place, _DIRECTORY)
        try:
            if _is_free(descriptor):
                shutil.rmtree(place)
                log.info("removed %s, left behind by an interrupted restore", place)
        finally:
            os.close(descriptor)


def remove_second_names(database: str) -> None:
    """Remove second names that killed restores gave a database; the caller holds the lock on it.

    Raises:
        OSError: they cannot be removed.
    """
    try:
        found = os.stat(database)
    except FileNotFoundError:
        return
    if found.st_nlink == 1:
        return
    directory = os.path.dirname(database)
    for name in (f"{directory}/{name}" for name in os.listdir(directory)):
        if name.startswith(_stem(database)) and name.endswith(".db") and os.path.samestat(os.lstat(name), found):
            _remove_second_wal(f"{database}-wal", f"{name}-wal")
            os.unlink(name)
            log.info("removed %s, left behind by an interrupted restore", name)


def _remove_second_wal(wal: str, second: str) -> None:
    """Remove the second name of a WAL; keep it if the database is damaged, as it may hold the only copy of data."""
    with suppress(FileNotFoundError):
        found = os.lstat(second)
        if found.st_size == 0 or (os.path.lexists(wal) and os.path.samestat(os.lstat(wal), found)):
            os.unlink(second)
        else:
            log.warning("%s stays: it is not the WAL of the database, which may be damaged", second)


def _place_of(database: str) -> str:
    directory, name = os.path.split(database)
    return f"{directory}/.reel-restore-{name}"


def _stem(database: str) -> str:
    return f"{database.removesuffix('.db')}{_BEFORE}"


def _made(place: str) -> int:
    """Create a directory and lock it; return a descriptor, which holds the lock until it is closed."""
    while True:
        with suppress(FileExistsError):
            os.mkdir(place, mode=0o700)
        with suppress(FileNotFoundError):  # a starting daemon has just removed it
            descriptor = os.open(place, _DIRECTORY)
            if not _is_free(descriptor):
                os.close(descriptor)
                raise Storage(f"nothing was restored: another restore goes on in {place}; wait for it")
            if os.path.exists(place) and os.path.samestat(os.fstat(descriptor), os.stat(place)):
                return descriptor
            os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock a directory; return whether it was free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _empty(place: str) -> None:
    for name in os.listdir(place):
        os.unlink(f"{place}/{name}")
