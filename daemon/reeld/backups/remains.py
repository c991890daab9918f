"""What a restore has beside the database while it works, and what is left of it if it is killed.

It works in a directory of its own, which is locked as long as it lives: so what a dead one left is told from what
another one needs. The database gets a second name before it is replaced. With that name alone nobody may open it while
it is still at its own path: SQLite would look for its WAL under the other name.
"""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel.errors import Storage

log = logging.getLogger(__name__)

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Between the name of a database and the time at which it was replaced.
_BEFORE = "-before-"


@contextmanager
def workplace(database: str) -> Iterator[str]:
    """Make an empty directory beside a database until the block ends; yield its path.

    Raises:
        OSError: it cannot be made.
        Storage: another restore of this database goes on.
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
    """Return a name for a database that is replaced, which nothing has yet."""
    stem = f"{_stem(database)}{time.strftime('%Y-%m-%d-%H%M%S')}"
    names = (f"{stem}{f'-{number}' if number else ''}.db" for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def clear_away(database: str) -> None:
    """Remove what restores left that were killed; the caller holds the lock on the database.

    Raises:
        OSError: it cannot be removed.
    """
    remove_workplace(database)
    remove_second_names(database)


def remove_workplace(database: str) -> None:
    """Remove the directory of a restore that was killed, with a copy of a backup; one that goes on keeps its own.

    Raises:
        OSError: it cannot be removed.
    """
    place = _place_of(database)
    with suppress(FileNotFoundError):
        descriptor = os.open(place, _DIRECTORY)
        try:
            if _is_free(descriptor):
                shutil.rmtree(place)
                log.info("removed %s, which a restore left that was killed", place)
        finally:
            os.close(descriptor)


def remove_second_names(database: str) -> None:
    """Take the names from a database that a restore gave it which was killed; the caller holds the lock on it.

    Raises:
        OSError: they cannot be removed.
    """
    try:
        found = os.stat(database)  # noqa: PTH116 - as it was given
    except FileNotFoundError:
        return
    if found.st_nlink == 1:
        return
    directory = os.path.dirname(database)  # noqa: PTH120 - as above
    for name in (f"{directory}/{name}" for name in os.listdir(directory)):  # noqa: PTH208 - names
        if name.startswith(_stem(database)) and name.endswith(".db") and os.path.samestat(os.lstat(name), found):
            _remove_second_wal(f"{database}-wal", f"{name}-wal")
            os.unlink(name)  # noqa: PTH108 - as above
            log.info("removed %s, a second name that a restore left which was killed", name)


def _remove_second_wal(wal: str, second: str) -> None:
    """Remove the second name of a WAL; one of a damaged database may have what is nowhere else, and stays."""
    with suppress(FileNotFoundError):
        found = os.lstat(second)
        if found.st_size == 0 or (os.path.lexists(wal) and os.path.samestat(os.lstat(wal), found)):
            os.unlink(second)  # noqa: PTH108 - as above
        else:
            log.warning("%s stays: it is not the WAL of the database, which may be damaged", second)


def _place_of(database: str) -> str:
    directory, name = os.path.split(database)
    return f"{directory}/.reel-restore-{name}"


def _stem(database: str) -> str:
    return f"{database.removesuffix('.db')}{_BEFORE}"


def _made(place: str) -> int:
    """Return a descriptor of a directory, which is locked until that is closed."""
    while True:
        with suppress(FileExistsError):
            os.mkdir(place, mode=0o700)  # noqa: PTH102 - as it was given
        with suppress(FileNotFoundError):  # a daemon that starts has just removed it
            descriptor = os.open(place, _DIRECTORY)
            if not _is_free(descriptor):
                os.close(descriptor)
                raise Storage(f"nothing was restored: another restore goes on in {place}; wait for it")
            if os.path.exists(place) and os.path.samestat(os.fstat(descriptor), os.stat(place)):  # noqa: PTH110, PTH116 - as above
                return descriptor
            os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock a directory; return whether nobody else had."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _empty(place: str) -> None:
    for name in os.listdir(place):  # noqa: PTH208 - names
        os.unlink(f"{place}/{name}")  # noqa: PTH108 - as above
