"""How it is stored which trigrams texts have, so that few of them are read for a pattern.

Each piece of a text has a signature (:mod:`reeld.search.signatures`). Those of up to 3,968 pieces with as many bits are
a group. It is stored bit by bit: a row has one bit of each of its pieces. So to find the pieces that may have eight
trigrams is to read eight rows of 500 bytes, and to combine them.

Measured with a million events of 183 characters, lines of real conversations: groups take 0.39 of the size of the rest
of the index, and 0.47 of it with whole conversations of 1,900 characters a message. A trigram table of FTS5 took as
much for blocks of 16 kB of text, of which nearly all had the trigrams of two words.

Groups are made when the words of all events are in the index (:mod:`reeld.search.grouping`). What is in none yet is
read as it is. Nothing is deleted from a group: the groups of the volume are forgotten, and made again.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator

from reel.base.light_typing import NamedTuple
from reeld.search.signatures import having
from reeld.search.volumes import Volume, down_from
from reeld.store.connection import Numbers

# The lowest bits of the number of a row say which bit of the pieces it has, and the others of which group.
_BITS = 12
# Ids of the events of a group have four bytes, as what they are above one of them: a volume has thousands of events.
# They are farther apart after thousands of starts of a server, each of which leaves out a million; then they have eight
# bytes, as what they are above this.
_FAR = -1
# So many of the newest events are in no group yet at most, unless there is a lack of groups.
MOST_WAITING = 1 << 13


def create(connection: sqlite3.Connection) -> None:
    """Create the tables, empty."""
    connection.execute(
        "CREATE TABLE groups (number INTEGER PRIMARY KEY, volume INTEGER NOT NULL, last INTEGER NOT NULL,"
        " size INTEGER NOT NULL, is_whole INTEGER NOT NULL, below INTEGER NOT NULL, events BLOB NOT NULL) STRICT"
    )
    connection.execute("CREATE INDEX groups_of_volume ON groups (volume, last)")
    connection.execute("CREATE TABLE bits (number INTEGER PRIMARY KEY, pieces BLOB NOT NULL) STRICT")


class Kind(NamedTuple):
    """What the pieces of a group have in common: how many bits they have, and whether they are whole texts."""

    size: int
    is_whole: bool


class Group(NamedTuple):
    """A group of pieces."""

    number: int
    kind: Kind


def groups_of(connection: sqlite3.Connection, volume: int) -> list[Group]:
    """Return the groups of a volume that have pieces."""
    query = "SELECT number, size, is_whole FROM groups WHERE volume = ? AND size > 0 ORDER BY number"
    rows = connection.execute(query, (volume,))
    return [Group(number, Kind(size, bool(is_whole))) for number, size, is_whole in rows]


def events_of(connection: sqlite3.Connection, group: int) -> "array[int]":
    """Return of which event each piece of a group is; zero for what is no piece."""
    below, above = _events_of(connection, group)
    return array("q", (event and event + below for event in above))


def events_with(connection: sqlite3.Connection, group: int, column: int) -> Iterator[int]:
    """Return the events of those pieces of a group whose bits are set in a column."""
    below, above = _events_of(connection, group)
    return map(below.__add__, having(column, above))


def _events_of(connection: sqlite3.Connection, group: int) -> tuple[int, "array[int]"]:
    """Return an id, and how much above it that of the event of each piece is; zero for what is no piece."""
    query = "SELECT below, events FROM groups WHERE number = ?"
    below, above = connection.execute(query, (group,)).fetchone()
    return below, array(_type_of(below), above)


def _type_of(below: int) -> str:
    """Return the type of what is above an id."""
    return "q" if below == _FAR else "I"


def row_of(group: Group, bit: int) -> int:
    """Return the number of the row that has a bit of the pieces of a group."""
    return (group.number << _BITS) + bit


def _rows_of(group: Group) -> tuple[int, int]:
    """Return the number of the first row of a group, and the one behind the last."""
    return row_of(group, 0), row_of(group, group.kind.size)


def columns_of(connection: sqlite3.Connection, group: Group) -> list[bytes]:
    """Return each bit of all pieces of a group."""
    query = "SELECT pieces FROM bits WHERE number >= ? AND number < ? ORDER BY number"
    return [column for (column,) in connection.execute(query, _rows_of(group))]


def insert(
    connection: sqlite3.Connection,
    volume: int,
    last: int,
    kind: Kind,
    events: "array[int]",
    columns: Iterable[bytes],
) -> None:
    """Insert a group.

    Args:
        connection: to the index.
        volume: the volume.
        last: the id up to which the events of the volume are in groups.
        kind: the kind of its pieces.
        events: of which event each piece is; zero for what is no piece, which fills a byte.
        columns: each bit of all of them.
    """
    query = (
        "INSERT INTO groups (volume, last, size, is_whole, below, events) VALUES (?, ?, ?, ?, ?, ?) RETURNING number"
    )
    below = min(filter(None, events), default=1) - 1
    if max(events, default=0) - below >= 1 << 32:
        below = _FAR
    above = array(_type_of(below), (event and event - below for event in events))
    (number,) = connection.execute(query, (volume, last, *kind, below, above.tobytes())).fetchone()
    rows = zip(range(*_rows_of(Group(number, kind))), columns, strict=True)
    connection.executemany("INSERT INTO bits VALUES (?, ?)", rows)


def rows_of(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, int]:
    """Return what the rows with these numbers have: a bit of each piece, of which that of the first is the highest."""
    query = "SELECT number, pieces FROM bits WHERE number IN (SELECT value FROM json_each(?))"
    rows = connection.execute(query, (Numbers(numbers),)).fetchall()
    return {number: int.from_bytes(pieces, "big") for number, pieces in rows}


def remove(connection: sqlite3.Connection, group: Group) -> None:
    """Remove a group."""
    connection.execute("DELETE FROM bits WHERE number >= ? AND number < ?", _rows_of(group))
    connection.execute("DELETE FROM groups WHERE number = ?", (group.number,))


def forget(connection: sqlite3.Connection, volume: int) -> None:
    """Remove the groups of a volume."""
    for group in groups_of(connection, volume):
        remove(connection, group)
    connection.execute("DELETE FROM groups WHERE volume = ?", (volume,))


def end_of(connection: sqlite3.Connection, volume: Volume) -> int:
    """Return the id up to which the events of a volume are in groups."""
    query = "SELECT coalesce(max(last), ?) FROM groups WHERE volume = ?"
    return int(connection.execute(query, (volume.first - 1, volume.number)).fetchone()[0])


def lacking(connection: sqlite3.Connection) -> int:
    """Return how many events are in no group yet; some of the newest always are."""
    query = "SELECT count(*) FROM facts WHERE event > ? AND event < ?"
    found = 0
    for volume in down_from(connection, 1 << 62):
        end = end_of(connection, volume)
        if end < volume.first:
            found += volume.events
        else:
            found += int(connection.execute(query, (end, volume.end)).fetchone()[0])
    return found
