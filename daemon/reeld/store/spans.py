"""The parts of an agent's past that are in effect: spans of seqs, each in one agent's log.

Between two jumps (a clear, a rewind, a restore or a clone) a log only grows. So the events in effect are a few spans:
from the last jump to the end; before that, up to the target of that jump from the jump that precedes the target; and so
on. The way back is walked step by step, and only as far as somebody needs.

A rewind goes to a place in the conversation, which may have come with a ``clone`` into the agent, or into one that it
inherits from. The seqs of such a place are those of another log. So the way back then leads through that clone. The log
of which the clone took the state over is not part of the past; but if that state has something of the past, as that of
a clone of the agent has, the way leads back to it.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.core.events import data_of
from reeld.store.connection import Connection
from reeld.store.schema import JUMPS

# The largest seq, and the largest id, that SQLite can hold.
NEWEST = (1 << 63) - 1
# An agent and those it inherits from, the oldest first: the row and the id of each, and the last seq that belongs to
# the past.
Lineage: TypeAlias = Sequence[tuple[int, str, int]]

_JUMP = f"""
    SELECT seq, kind, data_json, parent FROM events WHERE agent = ? AND seq <= ? AND {JUMPS} ORDER BY seq DESC LIMIT 1
"""  # noqa: S608 - our own words
_FIRST = "SELECT seq, id FROM events WHERE agent = ? ORDER BY seq LIMIT 1"
_TOOK_OVER = "SELECT 1 FROM events WHERE agent = ? AND seq > ? AND seq < ? AND kind = 'clone' LIMIT 1"
_PLACE = "SELECT agent, seq FROM events WHERE id = ?"


class Span(NamedTuple):
    """The events of an agent after a seq, up to another.

    Args:
        row: the agent's number in the database.
        uid: its id.
        after: the seq before the first.
        upto: the last seq.
    """

    row: int
    uid: str
    after: int
    upto: int


class _Jump(NamedTuple):
    """The target of a jump: a seq.

    ``into`` is the id of the agent that has it, if that is another one. With ``is_rewind`` it is a place in the
    conversation. ``parent`` is the newest node of the state to which it goes.
    """

    seq: int
    to: int
    into: str | None
    is_rewind: bool
    parent: int | None


def whole(line: Lineage) -> Iterator[Span]:
    """Yield the spans of whole logs, the newest first."""
    return (Span(row, uid, 0, upto) for row, uid, upto in reversed(line))


def in_effect(connection: Connection, line: Lineage) -> Iterator[Span]:
    """Yield the spans of events that no jump has undone, the newest first."""
    walk = Walk(line)
    while not walk.is_over:
        if (span := walk.step(connection)) is not None:
            yield span


class Walk:
    """The way back through what is in effect, one step at a time: the steps may be on different connections.

    Args:
        line: the agent and those it inherits from.
    """

    def __init__(self, line: Lineage) -> None:
        self._line = {row: (uid, upto) for row, uid, upto in line}
        self._sources = {clone[0]: source for source, clone in pairwise(line)}
        self._row: int | None = line[-1][0]
        # The events in effect are those in effect at `_last`, but not those after `_cap`: a rewind that went to a place
        # before a `clone` leads back to that clone first, past events that it took back.
        self._last = self._cap = line[-1][2]
        self._root = line[0][0]
        # The first seq of each agent, and its id.
        self._firsts: dict[int, tuple[int, int]] = {}
        # The event that led to a log outside of the past. The next one is older, unless it is damaged.
        self._parent: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is in effect."""
        return self._row is None or self._last <= 0

    def step(self, connection: Connection) -> Span | None:
        """Look for the next jump; return the events in effect after it, ``None`` if they are not of the past."""
        assert self._row is not None, "the way is over"  # noqa: S101
        row = self._row
        uid, upto = self._line.get(row, ("", self._last))
        self._cap = min(self._cap, upto)
        last = min(self._last, self._cap)
        jump = _newest_jump(connection, row, self._last)
        source = self._sources.get(row)
        if jump is None:
            self._row = None if source is None else source[0]
        elif jump.is_rewind and self._leads_through_a_clone(connection, row, jump):
            self._last, self._cap = jump.seq - 1, min(self._cap, jump.to)
        elif jump.into is None or (source is not None and jump.into == source[1]):
            self._row = row if jump.into is None else source and source[0]
            self._last = min(jump.to, jump.seq - 1)  # never ahead, whatever a damaged row says
        else:
            self._row, self._last = self._place(connection, jump.parent)
        return Span(row, uid, jump.seq if jump else 0, last) if row in self._line else None

    def _leads_through_a_clone(self, connection: Connection, row: int, rewind: _Jump) -> bool:
        """Return whether a rewind went to a place that a clone into the agent had brought, or before it."""
        if rewind.to < self._first(connection, row)[0]:
            return True
        return connection.execute(_TOOK_OVER, (row, rewind.to, rewind.seq)).fetchone() is not None

    def _first(self, connection: Connection, row: int) -> tuple[int, int]:
        if row not in self._firsts:
            self._firsts[row] = connection.execute(_FIRST, (row,)).fetchone() or (0, 0)
        return self._firsts[row]

    def _place(self, connection: Connection, parent: int | None) -> tuple[int | None, int]:
        """Return the agent and the seq of an event outside of the past from which the way may lead back to the past."""
        _, oldest = self._first(connection, self._root)
        if parent is None or not oldest <= parent < (self._parent or NEWEST):
            return None, 0
        self._parent = parent
        found: tuple[int, int] | None = connection.execute(_PLACE, (parent,)).fetchone()
        return found or (None, 0)


def _newest_jump(connection: Connection, row: int, last: int) -> _Jump | None:
    """Return the newest jump of an agent up to a seq; one that cannot be read goes back to the beginning."""
    found = connection.execute(_JUMP, (row, last)).fetchone()
    if found is None:
        return None
    seq, kind, data_json, parent = found
    data = data_of(data_json)
    places = {"restore": data.get("to"), "rewind": data.get("target"), "clone": data.get("at")}
    before, to = data.get("before"), places.get(kind)
    if type(before) is int:
        to = before - 1
    into = str(data.get("from")) if kind == "clone" else None
    return _Jump(seq, to if type(to) is int else 0, into, kind == "rewind", parent)
