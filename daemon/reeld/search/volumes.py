"""The words of all events, in volumes: FTS5 tables, each of which has the events of some ids.

A volume is merged into one piece when it is full, and never changes again. So an event costs the same in a large index
as in a small one, and a search reads one volume after the other, the newest first, until it has enough: a prefix, of
which FTS5 reads everything before it returns the first row, costs as much as one volume has of it. In one table for a
million events it took 190 ms.

Each event has three columns: its words, the parts of those in camel case, and words of our own that say what it is (its
kind, its agent), so that FTS5 narrows a search down to one agent by itself. The tables have no content, so that there
is no second copy of what was said.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

# Events and characters of a volume.
_EVENTS = 1 << 15
_CHARACTERS = 12 << 20

# An event in the index: its id, its words, the parts of those in camel case, and the words of our own.
Document: TypeAlias = tuple[int, str, str, str]


class Volume(NamedTuple):
    """A volume: its number, its first id, and how many characters it has."""

    number: int
    first: int
    characters: int

    def is_full(self, event: int) -> bool:
        """Return whether events after one begin a new volume."""
        return event + 1 - self.first >= _EVENTS or self.characters >= _CHARACTERS


def create(connection: sqlite3.Connection) -> None:
    """Create the first volume."""
    connection.execute(
        "CREATE TABLE volumes (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, characters INTEGER NOT NULL) STRICT"
    )
    begin(connection, Volume(1, 1, 0))


def begin(connection: sqlite3.Connection, volume: Volume) -> None:
    """Create a volume."""
    table = f"volume_{volume.number}"
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5 (words, parts, about, content = '', tokenize = 'ascii')"
    )
    # A batch is written as one segment. Merged by fours, which is usual, words would be written twice as often; the
    # last merge is at the end of the volume.
    options = ("hashsize", 8 << 20), ("automerge", 16)
    connection.executemany(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", options)  # noqa: S608 - a number
    connection.execute("INSERT INTO volumes VALUES (?, ?, ?)", volume)


def last(connection: sqlite3.Connection) -> Volume:
    """Return the volume that is being filled."""
    return Volume(*connection.execute("SELECT * FROM volumes ORDER BY number DESC LIMIT 1").fetchone())


def down_from(connection: sqlite3.Connection, below: int) -> list[Volume]:
    """Return the volumes that have events with an id below this one, the newest first."""
    rows = connection.execute("SELECT * FROM volumes WHERE first < ? ORDER BY number DESC", (below,))
    return [Volume(*row) for row in rows]


def insert(connection: sqlite3.Connection, volume: Volume, documents: Iterable[Document]) -> None:
    """Put events into a volume."""
    table = f"volume_{volume.number}"
    connection.executemany(f"INSERT INTO {table} (rowid, words, parts, about) VALUES (?, ?, ?, ?)", documents)  # noqa: S608 - a number


def count(connection: sqlite3.Connection, volume: Volume, characters: int) -> None:
    """Note that a volume has more characters."""
    connection.execute("UPDATE volumes SET characters = characters + ? WHERE number = ?", (characters, volume.number))


def matches(connection: sqlite3.Connection, volume: Volume, match: str, low: int, high: int) -> sqlite3.Cursor:
    """Return the ids of the events of a volume that match, the newest first, from one id up to another, excluded."""
    table = f"volume_{volume.number}"
    query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC"  # noqa: S608 - a number
    return connection.execute(query, (match, low, high))


def merge(connection: sqlite3.Connection, volume: Volume) -> None:
    """Merge a volume into one piece; deleted words are gone then."""
    table = f"volume_{volume.number}"
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 - a number


def replace(
    connection: sqlite3.Connection, volume: Volume, documents: Sequence[Document], instead: Sequence[Document]
) -> None:
    """Delete events from a volume without a trace, and insert others in their place.

    FTS5 finds what to delete by the words, which are not stored. Until the volume is merged, deleted words would remain
    in it, marked as deleted.
    """
    table = f"volume_{volume.number}"
    connection.executemany(
        f"INSERT INTO {table} ({table}, rowid, words, parts, about) VALUES ('delete', ?, ?, ?, ?)",  # noqa: S608 - a number
        documents,
    )
    insert(connection, volume, instead)
    merge(connection, volume)
