"""About how many words each event has, in a byte: what cannot be among the best hits is known from few pages.

The facts of an event (:mod:`reeld.search.volumes`) are 20 bytes in a table of many pages. To rank some thousand events
that are far apart, each of these pages was read, which took half of the time of a search. A block of this table has the
lengths of 1,024 neighbours, so that a million events take 1.3 MB.

A byte is a floating-point number with three bits behind the first one, rounded down. So it is at most an eighth below
the length, and never above it: what it says of a score is a bound.
"""
# ruff: noqa: S608 - numbers and queries of ours

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby

from reel.base.light_typing import NamedTuple

# The lowest bits of an id say where in its block an event is.
_BITS = 10
_EVENTS = 1 << _BITS
# The bits behind the first one. A first bit is there because this much is added to a length.
_FRACTION = 3
_ADDED = 1 << _FRACTION
# SQLite reads a byte below this one as a character, whose number it knows.
_MOST = 0x7F

# A text ends before a zero, so it has no number.
_BYTE = f"coalesce(unicode(CAST(substr(lengths, (-place & {_EVENTS - 1}) + 1, 1) AS TEXT)), 0)"
_LEAST = f"({_ADDED} + (byte & {_ADDED - 1}) << (byte >> {_FRACTION})) - {_ADDED}"


class Length(NamedTuple):
    """How many words an event has."""

    event: int
    words: int


def create(connection: sqlite3.Connection) -> None:
    """Create the table, with the lengths of all events that have facts."""
    connection.execute("CREATE TABLE lengths (block INTEGER PRIMARY KEY, lengths BLOB NOT NULL) STRICT")
    note(connection, map(Length._make, connection.execute("SELECT event, length FROM facts ORDER BY event")))


def note(connection: sqlite3.Connection, lengths: Iterable[Length]) -> None:
    """Note the lengths of events, in the order of their ids."""
    for block, some in groupby(lengths, lambda each: each.event >> _BITS):
        found = connection.execute("SELECT lengths FROM lengths WHERE block = ?", (block,)).fetchone()
        known = bytearray(found[0] if found else _EVENTS)
        for event, words in some:
            known[event & (_EVENTS - 1)] = rounded(words)
        connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, bytes(known)))


def with_least(rows: str) -> str:
    """Return a query for rows with a column ``least``, the shortest that the event at each place may be.

    A place is a negative id. A limit keeps SQLite from doing the same for each use of a column.

    Args:
        rows: a query with a column ``place``.
    """
    with_byte = f"SELECT each.*, {_BYTE} AS byte FROM ({rows}) AS each CROSS JOIN lengths ON block = -place >> {_BITS}"
    return f"SELECT *, {_LEAST} AS least FROM ({with_byte} LIMIT -1) LIMIT -1"


def forget(connection: sqlite3.Connection, events: Sequence[int]) -> None:
    """Forget the lengths of events, in the order of their ids."""
    note(connection, (Length(event, 0) for event in events))


def cut(connection: sqlite3.Connection, first: int) -> None:
    """Forget the lengths of all events from an id on."""
    block = first >> _BITS
    connection.execute("DELETE FROM lengths WHERE block > ?", (block,))
    forget(connection, range(first, (block + 1) << _BITS))


def rounded(words: int) -> int:
    """Return the byte for a length."""
    shifted = max(0, (words + _ADDED).bit_length() - _FRACTION - 1)
    return min(_MOST, (shifted << _FRACTION) + ((words + _ADDED) >> shifted) - _ADDED)
