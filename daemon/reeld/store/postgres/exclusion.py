"""Excludes other daemons that use the tables: each holds a shared advisory lock.

An erasure changes events that other daemons may have in memory and in their search indexes. So it needs the lock
exclusively: it is refused while another daemon is running, and one that starts meanwhile waits for its end.
"""

import time
from collections.abc import Callable
from sqlite3 import OperationalError
from typing import TypeVar

from reeld.store.connection import Connection

T = TypeVar("T")

# "reel" in ASCII, and the schema.
_PLACE = f"({0x7265656C}, hashtext(current_setting('search_path')))"
_HELD = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND pid = pg_backend_pid()"
# How often, and at which interval in seconds, a start checks again whether it is alone.
_TRIES, _PAUSE = 20, 0.05
# The first statement of each writing connection.
ENTER = f"SELECT pg_advisory_lock_shared{_PLACE}"


def take(connection: Connection) -> bool:
    """Take the lock exclusively; return whether that was possible."""
    (is_alone,) = connection.execute(f"SELECT pg_try_advisory_lock{_PLACE}").fetchone()
    return bool(is_alone)


def require(connection: Connection) -> None:
    """Check that the lock is still held exclusively: it ends with the connection on which it was taken.

    Raises:
        OperationalError: it is not. The server may also have lost what was staged, or the decision.
    """
    if connection.execute(_HELD).fetchone() is None:
        raise OperationalError("the connection to the server was lost meanwhile, and others may have begun")


def wait(connection: Connection) -> bool:
    """Take the lock like :func:`take`, but wait briefly for a daemon that is just ending."""
    for _ in range(_TRIES):
        if take(connection):
            return True
        time.sleep(_PAUSE)
    return False


def give_back(connection: Connection) -> None:
    """Let other daemons in again."""
    connection.execute(f"SELECT pg_advisory_unlock{_PLACE}").fetchone()


def alone(job: Callable[[Connection], T], otherwise: T) -> Callable[[Connection], T]:
    """Return a job that runs another one with the exclusive lock, or returns ``otherwise`` without the lock."""

    def run(connection: Connection) -> T:
        if not wait(connection):
            return otherwise
        try:
            return job(connection)
        finally:
            give_back(connection)

    return run
