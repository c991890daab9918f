"""About how many words each event has, and whether it is talk, in a byte: enough to leave most events out of a ranking.

The facts of an event (:mod:`reeld.search.volumes`) are 20 bytes in a table of many pages. To rank some thousand events
that are far apart, each of these pages was read, which took half of the time of a search. A block of this table has the
lengths of 1,024 neighbours, so that a million events take 1.3 MB.

The lower seven bits are a floating-point number with three bits behind the first one, rounded down. So it is at most
an eighth below the length, and never above it: what it says of a score is a bound. The highest one says that the event
is talk, see :class:`reeld.search.volumes.Document`; it is nowhere else.
"""

import json
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
_MOST = 0x7F
_TALK = 0x80
_UNKNOWN = bytes(_EVENTS)


class Length(NamedTuple):
    """How many words an event has, and whether it is talk."""

    event: int
    words: int
    is_talk: bool = False


def create(connection: sqlite3.Connection) -> None:
    """Create the table, empty."""
    connection.execute("CREATE TABLE lengths (block INTEGER PRIMARY KEY, lengths BLOB NOT NULL) STRICT")


def note(connection: sqlite3.Connection, lengths: Iterable[Length]) -> None:
    """Note the lengths of events, in the order of their ids."""
    for block, some in groupby(lengths, lambda each: each.event >> _BITS):
        found = connection.execute("SELECT lengths FROM lengths WHERE block = ?", (block,)).fetchone()
        known = bytearray(found[0] if found else _EVENTS)
        for event, words, is_talk in some:
            known[event & (_EVENTS - 1)] = rounded(words) | is_talk * _TALK
        connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, bytes(known)))


def bytes_of(connection: sqlite3.Connection, events: Sequence[int]) -> list[int]:
    """Return the byte of each event; zero, which says nothing, if nothing is known of it."""
    wanted = json.dumps(list({event >> _BITS for event in events}))
    query = "SELECT block, lengths FROM lengths WHERE block IN (SELECT value FROM json_each(?))"
    blocks = dict(connection.execute(query, (wanted,)))
    return [blocks.get(event >> _BITS, _UNKNOWN)[event & (_EVENTS - 1)] for event in events]


def least(byte: int) -> int:
    """Return the fewest words that an event with a byte has."""
    return (_ADDED + (byte & (_ADDED - 1)) << ((byte & _MOST) >> _FRACTION)) - _ADDED


def is_talk(byte: int) -> bool:
    """Return whether an event with a byte is talk."""
    return byte >= _TALK


def forget(connection: sqlite3.Connection, events: Sequence[int]) -> None:
    """Forget the lengths of events, in the order of their ids."""
    note(connection, (Length(event, 0) for event in events))


def cut(connection: sqlite3.Connection, first: int) -> None:
    """Forget the lengths of all events from an id on."""
    block = first >> _BITS
    connection.execute("DELETE FROM lengths WHERE block > ?", (block,))
    forget(connection, range(first, (block + 1) << _BITS))


def rounded(words: int) -> int:
    """Return the lower seven bits of the byte for a length."""
    shifted = max(0, (words + _ADDED).bit_length() - _FRACTION - 1)
    return min(_MOST, (shifted << _FRACTION) + ((words + _ADDED) >> shifted) - _ADDED)
