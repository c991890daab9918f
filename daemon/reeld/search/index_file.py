"""The file of an index: where it is, whose it is, what its errors mean, and how it is removed."""

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from reeld.store.connection import uri_of

# "rees" in ASCII.
APPLICATION_ID = 0x72656573


def path_of(database: str) -> str:
    """Return the path of a database's index: ``search.db`` beside ``reel.db``, ``x-search.db`` beside ``x.db``."""
    path = Path(database)
    prefix = "" if path.name == "reel.db" else f"{path.name.removesuffix('.db')}-"
    return str(path.with_name(f"{prefix}search.db"))


def remove(path: str) -> None:
    """Delete an index; a database of another program that is at its path stays.

    Raises:
        OSError: it cannot be deleted, or it is not known whose it is.
    """
    if _is_anothers(path):
        return
    for suffix in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def _is_anothers(path: str) -> bool:
    """Return whether another program has made a file; what is damaged is taken for an index, by its name.

    Raises:
        OSError: nobody knows, because the file is locked or cannot be opened.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return True
    except FileNotFoundError:
        return False
    try:
        with closing(sqlite3.connect(uri_of(path, "ro"), uri=True, timeout=0)) as connection:
            return application_of(connection) not in (None, APPLICATION_ID)
    except sqlite3.Error as error:
        if is_damage(error) or _code(error) == sqlite3.SQLITE_IOERR:
            return False
        raise OSError(None, str(error), path) from error


def application_of(connection: sqlite3.Connection) -> int | None:
    """Return the number of the program that made a database; ``None`` if there is nothing in it."""
    begun = connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return int(application) if begun else None


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is damaged."""
    return _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_locked(error: Exception) -> bool:
    """Return whether an error says that another program has locked the file."""
    return _code(error) == sqlite3.SQLITE_BUSY


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF


def path_for(directory: str, identity: str) -> str:
    """Return the path of the index for a database on a server, from the id of that database."""
    return f"{directory}/search-{identity}.db"
