"""About how many words each event has, and whether it is talk, in a byte: enough to leave most events out of a ranking.

The facts of an event (:mod:`reeld.search.volumes`) are 20 bytes in a table of many pages. To rank some thousand events
that are far apart, each of these pages was read, which took half of the time of a search. A block of this table has the
lengths of 1,024 neighbours, so that a million events take 1.3 MB.

The lower seven bits are a floating-point number with three bits behind the first one, rounded down. So it is at most
an eighth below the length, and never above it: what it says of a score is a bound. The highest one says that the event
is talk, see :class:`reeld.search.volumes.Document`; it is nowhere else.

Searches keep the blocks that they have read (:class:`Known`): to read them each time took a tenth of a
search. Only the last block changes; if another one does, as something was erased, the table has another number.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby

from reel.base.light_typing import NamedTuple

# The lowest bits of an id say where in its block an event is.
_BITS = 10
_EVENTS = 1 << _BITS
_IN_BLOCK = _EVENTS - 1
# The bits behind the first one. A first bit is there because this much is added to a length.
_FRACTION = 3
_ADDED = 1 << _FRACTION
_MOST = 0x7F
_TALK = 0x80
_UNKNOWN = bytes(_EVENTS)
# In the place of a block: a number that is another one after each change of a block that is not the last one, and in
# each file.
_STATE, _STATE_BYTES = -1, 8
# How many of the newest blocks are kept in memory: 4 MB, of four million events.
_KEPT = 1 << 12


class Length(NamedTuple):
    """How many words an event has, and whether it is talk."""

    event: int
    words: int
    is_talk: bool = False


def create(connection: sqlite3.Connection) -> None:
    """Create the table, empty."""
    connection.execute("CREATE TABLE lengths (block INTEGER PRIMARY KEY, lengths BLOB NOT NULL) STRICT")
    _renew_state(connection)


def note(connection: sqlite3.Connection, lengths: Iterable[Length]) -> None:
    """Note the lengths of events, in the order of their ids."""
    last = _last(connection)
    for block, some in groupby(lengths, lambda each: each.event >> _BITS):
        if block < last:
            _renew_state(connection)
        found = connection.execute("SELECT lengths FROM lengths WHERE block = ?", (block,)).fetchone()
        known = bytearray(found[0] if found else _EVENTS)
        for event, words, is_talk in some:
            known[event & _IN_BLOCK] = rounded(words) | is_talk * _TALK
        connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (block, bytes(known)))


def _last(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(block), 0) FROM lengths").fetchone()[0])


def _renew_state(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (_STATE, os.urandom(_STATE_BYTES)))


class _Kept(NamedTuple):
    """The bytes of the blocks from one on, which do not change while the table has a state."""

    state: bytes = b""
    first: int = 0
    lengths: bytes = b""


class Known:
    """The lengths that searches have read, for those to come, which may be in other threads."""

    def __init__(self) -> None:
        self._kept = _Kept()

    def bytes_of(self, connection: sqlite3.Connection, events: Sequence[int]) -> list[int]:
        """Return the byte of each event; zero, which says nothing, if nothing is known of it."""
        kept = self._kept = _up_to_date(connection, self._kept)
        begin, lengths = kept.first << _BITS, kept.lengths
        end = begin + len(lengths)
        if begin <= min(events) and max(events) < end:  # nearly always
            return [lengths[event - begin] for event in events]
        read = _read(connection, {event >> _BITS for event in events if not begin <= event < end})
        return [
            lengths[event - begin] if begin <= event < end else read.get(event >> _BITS, _UNKNOWN)[event & _IN_BLOCK]
            for event in events
        ]


def _up_to_date(connection: sqlite3.Connection, kept: _Kept) -> _Kept:
    """Return what is kept of the table as it is now."""
    # Before the blocks, so that these are no older. An index of an earlier version has no state yet.
    last, state = _last(connection), _read(connection, [_STATE]).get(_STATE, b"")
    if state != kept.state:
        kept = _Kept(state, max(0, last - _KEPT))
    begin = kept.first + (len(kept.lengths) >> _BITS)
    if begin >= last:
        return kept
    first = max(kept.first, last - _KEPT)
    read = _read(connection, range(max(begin, first), last))
    added = b"".join(read.get(block, _UNKNOWN) for block in range(begin, last))
    return _Kept(state, first, (kept.lengths + added)[first - kept.first << _BITS :])


def _read(connection: sqlite3.Connection, blocks: Iterable[int]) -> dict[int, bytes]:
    query = "SELECT block, lengths FROM lengths WHERE block IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(query, (json.dumps(list(blocks)),)))


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
    _renew_state(connection)
    connection.execute("DELETE FROM lengths WHERE block > ?", (block,))
    forget(connection, range(first, (block + 1) << _BITS))


def rounded(words: int) -> int:
    """Return the lower seven bits of the byte for a length."""
    shifted = max(0, (words + _ADDED).bit_length() - _FRACTION - 1)
    return min(_MOST, (shifted << _FRACTION) + ((words + _ADDED) >> shifted) - _ADDED)
