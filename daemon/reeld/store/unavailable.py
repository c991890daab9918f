"""Failures to use a database that may pass without anybody's help, so that it is tried again."""

import errno
import sqlite3

from reel.base.errors import Storage

_SYSTEM = frozenset(
    {
        *(errno.EAGAIN, errno.EBUSY, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC),
        *(errno.ESTALE, errno.ETIMEDOUT),
    }
)
_SQLITE = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM}
)


class Unavailable(Storage):
    """The database cannot be used now: its disk is full, its server is down; later it may be possible."""


def passes(error: OSError | sqlite3.Error) -> bool:
    """Return whether a failure of the system or of SQLite may pass."""
    if isinstance(error, OSError):
        return error.errno in _SYSTEM
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in _SQLITE
