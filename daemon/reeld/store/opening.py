"""Opens files of the log, and says what to do about one that cannot be opened."""

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from reel.base.errors import Storage
from reeld.store.unavailable import Unavailable, passes


@contextmanager
def opening(path: str) -> Iterator[None]:
    """Turn errors of opening and reading a file into one that says what to do.

    Raises:
        Unavailable: the file cannot be opened or read now.
        Storage: it cannot be opened or read at all.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Storage(
                f"cannot open {error.filename or path}: it is a symbolic link; name the file itself"
            ) from error
        kind = Unavailable if passes(error) else Storage
        raise kind(f"cannot open {error.filename or path}: {error.strerror}") from error
    except sqlite3.OperationalError as error:
        failed = getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
        kind = Unavailable if passes(error) else Storage
        raise kind(f"cannot use {path}: {error}{'; is there room on its disk?' if failed else ''}") from error
    except sqlite3.DatabaseError as error:
        raise Storage(
            f"{path} is damaged or not an SQLite database ({error});"
            " move it away with its -wal and -shm, and put a backup in its place"
        ) from error


def open_regular(path: str, flags: int, mode: int = 0) -> int:
    """Open a regular file, and return its descriptor; a pipe does not block, and a device is not touched.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", path)
