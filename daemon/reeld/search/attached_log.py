"""The log that an index is made from, as connections to the index read it: attached read-only, or on a server."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from reel.base.errors import Storage
from reeld.store.connection import Connection, uri_of

# How a transaction begins that only writes to the index. `BEGIN IMMEDIATE` begins to read all attached files, until the
# end. As long as a log is read, its WAL cannot be begun again: it grew to 50 MB during an import of 40.
WRITING = "BEGIN"
# Opens a connection to the log on a server.
OpenLog: TypeAlias = Callable[[], Connection]


class LogError(Storage):
    """The log cannot be read; the index is not to blame."""


@contextmanager
def reading_the_log() -> Iterator[None]:
    """Raise :class:`LogError` if SQLite or the server refuses something."""
    try:
        yield
    except sqlite3.Error as error:
        raise LogError(f"the log cannot be read: {error}") from error


def attach(connection: sqlite3.Connection, database: str | OpenLog) -> None:
    """Let a connection to the index read the log.

    Args:
        connection: to the index.
        database: the path of the log, or what opens a connection to it.
    """
    if not isinstance(database, str):
        with reading_the_log():
            connection.log = database()  # type: ignore[attr-defined]  # it is of a class of our own
        return
    connection.execute("ATTACH ? AS log", (uri_of(database, "ro"),))
    connection.execute("SELECT 1 FROM log.sqlite_schema").fetchall()  # opens it now: it may be gone later


def log_of(connection: sqlite3.Connection) -> Connection:
    """Return the connection that reads the log: the same one, unless the log is on a server."""
    log: Connection | None = getattr(connection, "log", None)
    return connection if log is None else log


def close_log(connection: sqlite3.Connection) -> None:
    """Close the connection to the log, if it is a separate one."""
    if (log := getattr(connection, "log", None)) is not None:
        log.close()


def checksum_of(connection: sqlite3.Connection, event: int) -> int | None:
    """Return the checksum of an event of the log; ``None`` if there is no such event."""
    with reading_the_log():
        found = log_of(connection).execute("SELECT checksum FROM log.events WHERE id = ?", (event,)).fetchone()
    return None if found is None else int(found[0])


def survivor(connection: sqlite3.Connection, event: int) -> int | None:
    """Return the newest event that was left when a server lost this one; ``None`` if it is not known to be lost."""
    log = log_of(connection)
    if log is connection:  # a file loses nothing
        return None
    query = "SELECT survivor FROM runs WHERE survivor < ? AND first > ? ORDER BY first LIMIT 1"
    with reading_the_log():
        found = log.execute(query, (event, event)).fetchone()
    return None if found is None else int(found[0])


def newest(connection: sqlite3.Connection, last: int) -> tuple[int, int]:
    """Return the newest event of the log up to an id, and its checksum."""
    query = "SELECT id, checksum FROM log.events WHERE id <= ? ORDER BY id DESC LIMIT 1"
    with reading_the_log():
        return log_of(connection).execute(query, (last,)).fetchone() or (0, 0)
