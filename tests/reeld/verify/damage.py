"""Damage to a database that nobody has open, done behind the triggers that would refuse it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"


@contextmanager
def unguarded(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database in which the log can be changed; it is append-only again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute(_TRIGGERS).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, sql in triggers:
            connection.execute(sql)


def damage(path: str, *statements: str) -> None:
    """Run statements on a database."""
    with unguarded(path) as connection:
        for sql in statements:
            connection.execute(sql)


def lose_from_index(path: str, index: str, statement: str) -> None:
    """Run a statement that leaves an index stale."""
    with unguarded(path) as connection:
        row = connection.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?", (index,)
        ).fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(statement)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("PRAGMA writable_schema = RESET")
