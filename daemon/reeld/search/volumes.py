"""The words of all events, in volumes: FTS5 tables, each for a range of event ids.

A volume is merged into one segment when it is full, and never changes again. So the cost of an event does not depend on
the size of the index. A search for the newest hits reads the volumes one by one, newest first, until it has enough.
FTS5 reads all matches of a prefix before it returns the first row, so a prefix costs only as much as its matches in one
volume. In a single table for a million events, it took 190 ms.

Each event has four columns: its words, the parts of its camel-case words, joined parts of its names, and generated
words that mark its kind and its agent, so that FTS5 itself can restrict a search to one agent. The tables are
contentless, so there is no second copy of the texts. They have no sizes of rows either: what ranks an event is not
FTS5's ``bm25``, which knows its own table only, but :mod:`reeld.search.ranking`, from the facts of the event.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain

from reel.base.light_typing import NamedTuple
from reeld.search import lengths, vocabulary
from reeld.search.lengths import Length
from reeld.store.connection import Numbers

# The maximum of events and characters of a volume.
_EVENTS = 1 << 15
_CHARACTERS = 12 << 20
_COLUMNS = "words, parts, joins, about"
_VOLUMES = f"SELECT *, coalesce(lead(first) OVER (ORDER BY number), {1 << 62}) FROM volumes"  # noqa: S608 - a number


class Document(NamedTuple):
    """An event in the index: its words, the parts of its camel-case words, joined parts of names, and generated words.

    ``agent`` is a row, ``kind`` a number, ``length`` how many words there are, and ``said`` when it was said. If it
    ``is_talk``, it is a message of a person or a model without calls.
    """

    event: int
    words: str
    parts: str
    joins: str
    about: str
    agent: int
    kind: int
    length: int
    said: int
    is_talk: bool


class Condition(NamedTuple):
    """A condition on the facts of events, as an expression of SQL with its parameters."""

    sql: str
    values: tuple[object, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether it is true of every event."""
        return self.sql == "TRUE"


class Some(NamedTuple):
    """Some of the events of a volume: those with these ids, which ascend, and all behind another one."""

    events: Sequence[int]
    after: int

    def between(self, low: int, high: int) -> Sequence[int]:
        """Return the ids from one up to another one, excluded."""
        return self.events[bisect_left(self.events, low) : bisect_left(self.events, high)]


class Wanted(NamedTuple):
    """Which events of a volume are wanted.

    Args:
        match: an expression of FTS5; ``None`` for all.
        condition: what must be true of their facts.
        some: among which events they are; ``None`` for all.
    """

    match: str | None
    condition: Condition
    some: Some | None = None


class Place(NamedTuple):
    """Where a search by time goes on: before an event that was said at a time."""

    said: int
    event: int


class Volume(NamedTuple):
    """A volume: its number, its first id, and how many events and characters were inserted into it.

    Events are counted, because ids have gaps. ``newest`` is the time of the event that was said last; it may have been
    erased. ``end`` is the first id of the next volume, or beyond all ids.
    """

    number: int
    first: int
    events: int
    characters: int
    newest: int
    end: int

    @property
    def is_full(self) -> bool:
        """Whether later events begin a new volume."""
        return self.events >= _EVENTS or self.characters >= _CHARACTERS


def create(connection: sqlite3.Connection) -> None:
    """Create the first volume."""
    connection.execute(
        "CREATE TABLE volumes (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, events INTEGER NOT NULL,"
        " characters INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT"
    )
    # What ranks and filters an event, beside its words.
    connection.execute(
        "CREATE TABLE facts (event INTEGER PRIMARY KEY, agent INTEGER NOT NULL, kind INTEGER NOT NULL,"
        " length INTEGER NOT NULL, said INTEGER NOT NULL) STRICT"
    )
    lengths.create(connection)
    begin(connection, 1, 1)


def begin(connection: sqlite3.Connection, number: int, first: int) -> None:
    """Create an empty volume for the events from an id on."""
    table = f"volume_{number}"
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5 ({_COLUMNS}, content = '', columnsize = 0, tokenize = 'ascii')"
    )
    connection.execute(f"CREATE VIRTUAL TABLE terms_{number} USING fts5vocab ({table}, instance)")
    connection.execute(f"CREATE VIRTUAL TABLE {counts_of(number)} USING fts5vocab ({table}, row)")
    vocabulary.watch(connection, counts_of(number))
    # A batch is written as one segment. Merging every four segments, the default, would write words twice as often; the
    # final merge is at the end of the volume.
    options = ("hashsize", 8 << 20), ("automerge", 16)
    connection.executemany(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", options)  # noqa: S608 - a number
    connection.execute("INSERT INTO volumes VALUES (?, ?, 0, 0, 0)", (number, first))


def counts_of(number: int) -> str:
    """Return the table that says how many events of a volume have each word."""
    return f"counts_{number}"


def last(connection: sqlite3.Connection) -> Volume:
    """Return the volume that is being filled."""
    return Volume(*connection.execute(f"{_VOLUMES} ORDER BY number DESC LIMIT 1").fetchone())


def from_event(connection: sqlite3.Connection, last: int) -> list[Volume]:
    """Return the volumes that may have events with an id above this one, at least the last one, the oldest first."""
    rows = connection.execute(f"{_VOLUMES} ORDER BY number")
    return [volume for volume in map(Volume._make, rows) if volume.end > max(last, 1)]


def words_of(connection: sqlite3.Connection, volume: Volume) -> dict[str, int]:
    """Return how many events of a volume have each word."""
    query = f"SELECT term, doc FROM {counts_of(volume.number)}"  # noqa: S608 - a number
    return dict(connection.execute(query).fetchall())


def cut(connection: sqlite3.Connection, emptied: Sequence[Volume]) -> int:
    """Empty the last volumes; return the id up to which events are left."""
    connection.execute("DROP VIEW vocabulary")
    for volume in emptied:
        connection.execute(f"DROP TABLE terms_{volume.number}")
        connection.execute(f"DROP TABLE {counts_of(volume.number)}")
        connection.execute(f"DROP TABLE volume_{volume.number}")
        connection.execute("DELETE FROM volumes WHERE number = ?", (volume.number,))
    connection.execute("DELETE FROM facts WHERE event >= ?", (emptied[0].first,))
    lengths.cut(connection, emptied[0].first)
    begin(connection, emptied[0].number, emptied[0].first)
    return emptied[0].first - 1


def down_from(connection: sqlite3.Connection, below: int) -> list[Volume]:
    """Return the volumes that have events with an id below this one, the newest first."""
    rows = connection.execute(f"{_VOLUMES} ORDER BY number DESC")
    return [volume for volume in map(Volume._make, rows) if volume.first < below]


def insert(connection: sqlite3.Connection, volume: Volume, documents: Sequence[Document]) -> None:
    """Insert events into a volume."""
    table = f"volume_{volume.number}"
    connection.executemany(
        f"INSERT INTO {table} (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608 - a number
        (document[:5] for document in documents),
    )
    connection.executemany(
        "INSERT INTO facts VALUES (?, ?, ?, ?, ?)", ((document.event, *document[5:9]) for document in documents)
    )
    lengths.note(connection, (Length(each.event, each.length, each.is_talk) for each in documents))


def count(connection: sqlite3.Connection, volume: Volume, documents: Sequence[Document]) -> None:
    """Add to the numbers of events and characters of a volume."""
    connection.execute(
        "UPDATE volumes SET events = events + ?, characters = characters + ?, newest = max(newest, ?) WHERE number = ?",
        (
            len(documents),
            sum(len(document.words) for document in documents),
            max((document.said for document in documents), default=0),
            volume.number,
        ),
    )


def is_match(connection: sqlite3.Connection, event: int, match: str) -> bool:
    """Return whether an event has what an expression of FTS5 finds."""
    table = f"volume_{down_from(connection, event + 1)[0].number}"
    query = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?)"  # noqa: S608 - ours
    return bool(connection.execute(query, (match, event)).fetchone()[0])


def some_with(connection: sqlite3.Connection, volume: Volume, match: str, most: int) -> list[int] | None:
    """Return the events of a volume that an expression of FTS5 finds; ``None`` if there are too many."""
    table = f"volume_{volume.number}"
    query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?"  # noqa: S608 - a number
    found = [event for (event,) in connection.execute(query, (match, most + 1))]
    return found if len(found) <= most else None


def has_any(connection: sqlite3.Connection, volume: Volume, condition: Condition) -> bool:
    """Return whether a condition is true of any event of a volume."""
    query = f"SELECT EXISTS (SELECT 1 FROM facts WHERE {condition.sql} AND event >= ? AND event < ?)"  # noqa: S608 - ours
    return bool(connection.execute(query, (*condition.values, volume.first, volume.end)).fetchone()[0])


def matches(connection: sqlite3.Connection, volume: Volume, wanted: Wanted, low: int, high: int) -> Iterator[int]:
    """Return the ids of matching events of a volume, newest first, from ``low`` up to ``high``, excluded."""
    low, high, some = max(low, volume.first), min(high, volume.end), wanted.some
    if some is not None and wanted.match is None and wanted.condition.is_nothing:  # then nothing is looked up
        newer = _matches(connection, volume, Wanted(None, wanted.condition), max(some.after + 1, low), high)
        return chain(newer, reversed(some.between(low, high)))
    return _matches(connection, volume, wanted, low, high)


def _matches(connection: sqlite3.Connection, volume: Volume, wanted: Wanted, low: int, high: int) -> Iterator[int]:
    source, values = _source(volume, wanted, low, high)
    rows = connection.execute(f"SELECT event FROM {source} ORDER BY event DESC", values)  # noqa: S608 - ours
    return chain.from_iterable(rows)


def latest(connection: sqlite3.Connection, volume: Volume, wanted: Wanted, before: Place, limit: int) -> list[Place]:
    """Return the matching events of a volume that were said last before a place, the latest first."""
    source, values = _source(volume, wanted, volume.first, volume.end)
    query = f"SELECT said, event FROM {source} AND (said, event) < (?, ?) ORDER BY said DESC, event DESC LIMIT ?"  # noqa: S608 - ours
    return [Place(*row) for row in connection.execute(query, (*values, *before, limit))]


def _source(volume: Volume, wanted: Wanted, low: int, high: int) -> tuple[str, tuple[object, ...]]:
    """Return what follows ``FROM`` for the matching events from an id up to another one, excluded, and its parameters.

    A condition may follow.
    """
    match, condition, some = wanted
    table = f"volume_{volume.number}"
    if some is not None:
        listed = "SELECT value AS event FROM json_each(?)"
        newer = "SELECT event FROM facts WHERE event >= ? AND event < ?"
        matching = f"event IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)" if match else "TRUE"  # noqa: S608 - ours
        values = (Numbers(some.between(low, high)), max(some.after + 1, low), high, *condition.values)
        source = f"({listed} UNION ALL {newer}) CROSS JOIN facts USING (event) WHERE {condition.sql} AND {matching}"
        return source, (*values, *([match] if match else []))
    bounds = f"WHERE {condition.sql} AND event >= ? AND event < ?"
    if match is None:
        return f"facts {bounds}", (*condition.values, low, high)
    found = f"(SELECT rowid AS event FROM {table} WHERE {table} MATCH ?)"  # noqa: S608 - ours
    return f"{found} CROSS JOIN facts USING (event) {bounds}", (match, *condition.values, low, high)


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
    for document in documents:
        connection.execute(
            f"INSERT INTO {table} ({table}, rowid, {_COLUMNS}) VALUES ('delete', ?, ?, ?, ?, ?)",  # noqa: S608 - a number
            document[:5],
        )
        connection.execute("DELETE FROM facts WHERE event = ?", (document.event,))
    lengths.forget(connection, [document.event for document in documents])
    insert(connection, volume, instead)
    merge(connection, volume)
