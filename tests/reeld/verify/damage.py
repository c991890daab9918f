"""Damage to a database that nobody has open, done behind the triggers that would refuse it."""

from pathlib import Path

from tests.reeld.store.making import seal, unguarded


def damage(path: str, *statements: str, sealed: bool = True) -> None:
    """Run statements on a database.

    Args:
        path: the file.
        statements: what is run.
        sealed: give the events the checksums of what they are then, so that only what is wrong with them is found.
    """
    with unguarded(path) as connection:
        for sql in statements:
            connection.execute(sql)
        if sealed:
            seal(connection)


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


def break_overflow(path: str, letter: bytes, page: int = 4096) -> None:
    """Make a long text of one letter unreadable: its pages refer to one that does not exist."""
    file = Path(path)
    stored = file.read_bytes()
    full = letter * (page - 4)
    for place in range(0, len(stored), page):
        if stored[place + 4 : place + page] == full:
            with file.open("r+b") as opened:
                opened.seek(place)
                opened.write(b"\xff" * 4)
