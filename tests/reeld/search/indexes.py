"""Indexes that are opened and filled by hand."""

import sqlite3

from reeld.search import index, index_file


def opened(database: str) -> sqlite3.Connection:
    """Open the index of a log."""
    connection = sqlite3.connect(f"file:{index_file.path_of(database)}?mode=rwc", uri=True, isolation_level=None)
    try:
        index.prepare(connection, database)
    except BaseException:
        connection.close()
        raise
    return connection


def fill(connection: sqlite3.Connection) -> None:
    """Fill an index."""
    while index.fill(connection).more:
        pass
