"""Removes the traces of erased content from a SQLite file.

Deleted rows leave copies of themselves in the free space of other pages, even with ``secure_delete``. So ``VACUUM``
writes the file again, and the WAL is truncated once nobody reads an old snapshot.
"""

import sqlite3
from typing import NamedTuple

from reeld.core.events import Pack
from reeld.store import erasures
from reeld.store.wal import truncate_wal


class Carried(NamedTuple):
    """What a start found: whether there was an erasure to complete, and whether traces of it are left."""

    was_decided: bool
    has_traces: bool


def carry_through(connection: sqlite3.Connection, pack: Pack) -> Carried:
    """Complete decided erasures, and clean the file.

    The WAL keeps traces while another process reads an old snapshot.
    """
    if not erasures.carry_through(connection, pack):
        return Carried(was_decided=False, has_traces=False)
    rewrite(connection)
    return Carried(was_decided=True, has_traces=not truncate_wal(connection, 0))


def file_size(connection: sqlite3.Connection) -> int:
    """Return the bytes of the database."""
    (size,) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
    return int(size)


def rewrite(connection: sqlite3.Connection) -> None:
    """Write the file again without free space, and copy the WAL into it."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def forget_pages(connection: sqlite3.Connection) -> None:
    """Drop the pages that a connection has in memory."""
    connection.execute("PRAGMA shrink_memory")
