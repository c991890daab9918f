"""The words of all events, in volumes: FTS5 tables, each for a range of event ids.

A volume is merged into one segment when it is full, and never changes again. So the cost of an event does not depend on
the size of the index. A search reads the volumes one by one, newest first, until it has enough. FTS5 reads all matches
of a prefix before it returns the first row, so a prefix costs only as much as its matches in one volume. In a single
table for a million events, it took 190 ms.

Each event has three columns: its words, the parts of its camel-case words, and generated words that mark its kind and
its agent, so that FTS5 itself can restrict a search to one agent. The tables are contentless, so there is no second
copy of the texts.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

# The maximum of events and characters of a volume.
_EVENTS = 1 << 15
_CHARACTERS = 12 << 20

# An event in the index: its id, its words, the parts of its camel-case words, and the generated words.
Document: TypeAlias = tuple[int, str, str, str]


class Volume(NamedTuple):
    """A volume: its number, its first id, and how many events and characters were inserted into it.

    Events are counted, because ids have gaps.
    """

    number: int
    first: int
    events: int
    characters: int

    @property
    def is_full(self) -> bool:
        """Whether later events begin a new volume."""
        return self.events >= _EVENTS or self.characters >= _CHARACTERS


def create(connection: sqlite3.Connection) -> None:
    """Create the first volume."""
    connection.execute(
        "CREATE TABLE volumes (number INTEGER PRIMARY KEY, first INTEGER NOT NULL,"
        " events INTEGER NOT NULL, characters INTEGER NOT NULL) STRICT"
    )
    begin(connection, 1, 1)


def begin(connection: sqlite3.Connection, number: int, first: int) -> None:
    """Create an empty volume for the events from an id on."""
    table = f"volume_{number}"
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5 (words, parts, about, content = '', tokenize = 'ascii')"
    )
    # A batch is written as one segment. Merging every four segments, the default, would write words twice as often; the
    # final merge is at the end of the volume.
    options = ("hashsize", 8 << 20), ("automerge", 16)
    connection.executemany(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", options)  # noqa: S608 - a number
    connection.execute("INSERT INTO volumes VALUES (?, ?, 0, 0)", (number, first))


def last(connection: sqlite3.Connection) -> Volume:
    """Return the volume that is being filled."""
    return Volume(*connection.execute("SELECT * FROM volumes ORDER BY number DESC LIMIT 1").fetchone())


def cut(connection: sqlite3.Connection, last: int) -> int:
    """Empty the volumes that may have events with an id above this one; return the id up to which events are left."""
    query = "SELECT * FROM volumes WHERE number >= (SELECT max(number) FROM volumes WHERE first <= max(?, 1))"
    emptied = [Volume(*row) for row in connection.execute(query, (last,))]
    for volume in emptied:
        connection.execute(f"DROP TABLE volume_{volume.number}")
        connection.execute("DELETE FROM volumes WHERE number = ?", (volume.number,))
    begin(connection, emptied[0].number, emptied[0].first)
    return emptied[0].first - 1


def down_from(connection: sqlite3.Connection, below: int) -> list[Volume]:
    """Return the volumes that have events with an id below this one, the newest first."""
    rows = connection.execute("SELECT * FROM volumes WHERE first < ? ORDER BY number DESC", (below,))
    return [Volume(*row) for row in rows]


def insert(connection: sqlite3.Connection, volume: Volume, documents: Iterable[Document]) -> None:
    """Insert events into a volume."""
    table = f"volume_{volume.number}"
    connection.executemany(f"INSERT INTO {table} (rowid, words, parts, about) VALUES (?, ?, ?, ?)", documents)  # noqa: S608 - a number


def count(connection: sqlite3.Connection, volume: Volume, events: int, characters: int) -> None:
    """Add to the numbers of events and characters of a volume."""
    connection.execute(
        "UPDATE volumes SET events = events + ?, characters = characters + ? WHERE number = ?",
        (events, characters, volume.number),
    )


def matches(connection: sqlite3.Connection, volume: Volume, match: str, low: int, high: int) -> sqlite3.Cursor:
    """Return the ids of matching events of a volume, newest first, from ``low`` up to ``high``, excluded."""
    table = f"volume_{volume.number}"
    query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC"  # noqa: S608 - a number
    return connection.execute(query, (match, low, high))


def merge(connection: sqlite3.Connection, volume: Volume) -> None:
    """Merge a volume into one segment, which purges deleted words."""
    table = f"volume_{volume.number}"
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 - a number


def replace(
    connection: sqlite3.Connection, volume: Volume, documents: Sequence[Document], instead: Sequence[Document]
) -> None:
    """Delete events from a volume without a trace, and insert others in their place.

    FTS5 needs the words to find what to delete, as it does not store them. Until the volume is merged, deleted words
    would remain in it, marked as deleted.
    """
    table = f"volume_{volume.number}"
    connection.executemany(
        f"INSERT INTO {table} ({table}, rowid, words, parts, about) VALUES ('delete', ?, ?, ?, ?)",  # noqa: S608 - a number
        documents,
    )
    insert(connection, volume, instead)
    merge(connection, volume)
