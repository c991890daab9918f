"""Which daemons use the tables: each holds an advisory lock on them, shared with the others.

An erasure changes what was written, and other daemons have that in memory and in their search indexes. So it needs the
lock for itself: it is refused while another daemon is there, and one that starts meanwhile waits until it is over.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from reeld.store.connection import Connection

T = TypeVar("T")

# "reel" in ASCII, and the schema.
_PLACE = f"({0x7265656C}, hashtext(current_setting('search_path')))"
# How often, and after how many seconds each time, a start looks again whether it is alone.
_TRIES, _PAUSE = 20, 0.05
# What each writing connection does first.
ENTER = f"SELECT pg_advisory_lock_shared{_PLACE}"


def take(connection: Connection) -> bool:
    """Take the lock for this daemon alone; return whether there is no other."""
    (is_alone,) = connection.execute(f"SELECT pg_try_advisory_lock{_PLACE}").fetchone()
    return bool(is_alone)


def wait(connection: Connection) -> bool:
    """Take the lock as :func:`take` does, but wait a moment for a daemon that has just ended."""
    for _ in range(_TRIES):
        if take(connection):
            return True
        time.sleep(_PAUSE)
    return False


def give_back(connection: Connection) -> None:
    """Let other daemons in again."""
    connection.execute(f"SELECT pg_advisory_unlock{_PLACE}").fetchone()


def alone(job: Callable[[Connection], T], otherwise: T) -> Callable[[Connection], T]:
    """Return a job that runs another one while no other daemon is there; if one is, the result is ``otherwise``."""

    def run(connection: Connection) -> T:
        if not wait(connection):
            return otherwise
        try:
            return job(connection)
        finally:
            give_back(connection)

    return run
