"""Keeping a copy of a database of an older version before it is migrated: the way back to that version."""

import logging
import os
import sqlite3
import time

from reel.errors import Storage
from reeld.store.backup import Copy

log = logging.getLogger(__name__)

# Seconds between two lines in the log. A client that has started the daemon waits as long as there are new ones.
_REPORT_EVERY = 5.0


def keep_copy(connection: sqlite3.Connection, path: str, version: int) -> str:
    """Copy a database beside itself, unless that was done at an earlier start; return the path of the copy.

    The name has the newest event. So starts that are interrupted again and again keep one copy, and a file that was
    taken back, used and brought here again is copied again.

    Args:
        connection: to the database.
        path: the database.
        version: its version.

    Raises:
        Storage: the copy cannot be written; it says what to do.
    """
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    kept = f"{path.removesuffix('.db')}-version-{version}-event-{newest}.db"
    if os.path.lexists(kept):
        return kept
    copy, reported = Copy(kept), time.monotonic()

    def report() -> bool:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT_EVERY:
            reported = time.monotonic()
            log.warning("%d of %d MB are copied to %s", copy.written >> 20, copy.expected >> 20, kept)
        return False

    try:
        copy.write(connection, abandoned=report)
        copy.give_name()
    except Storage as error:
        raise Storage(
            f"{error.message}; a database of an older version is only changed once there is a copy to go back to:"
            " make room on its disk, and start again"
        ) from error
    return kept
