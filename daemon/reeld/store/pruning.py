"""Determines which events of an agent's log are pruned: what was said before a point, and nothing can reach any more.

From the point on, every position of the log stays as it is. So do the states that a mark, a redo, or another agent
leads to: one that began there as a clone, took that state over, or went back there (:mod:`reeld.store.reach`).

Of the values beside a conversation, the newest one at the point stays, and at each position at which an agent was
cloned. Records for programs go if all messages that name them as their copies do, unless a clone has them in its past.
A program that says what is left of its records knows better: then none goes as a copy.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import partial

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.said.kinds import CONVERSATION
from reeld.core.item_forms import copies_in
from reeld.core.pruning import Pruning
from reeld.core.redaction import Redacted
from reeld.store.affected import affected
from reeld.store.connection import Connection, Numbers
from reeld.store.plans import Plan, pages
from reeld.store.pruned import pruned_as
from reeld.store.reach import Reach
from reeld.store.redacted_keys import plan_keys
from reeld.store.redactions import RedactedEvent, Redactions
from reeld.store.spans import NEWEST

# Events that are read at a time, and events whose time is looked at.
_PAGE = 500
_LOOKED_AT = 5000
# The kind of records that only programs read.
_FOR_PROGRAMS = "command"
_HEAD = "SELECT seq FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1"
_ROW = "SELECT id, seq, kind, content, data_json, ref FROM events WHERE agent = ?"
_BEFORE = f"{_ROW} AND seq > ? AND seq < ? ORDER BY seq LIMIT ?"
_OF_SEQS = f"{_ROW} AND seq IN (SELECT value FROM json_each(?))"  # noqa: S608 - our own words
_AFTER = "SELECT seq, kind, content, data_json FROM events WHERE agent = ? AND seq >= ? ORDER BY seq LIMIT ?"
_TIMES = "SELECT seq, time FROM events WHERE agent = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"


class Point(NamedTuple):
    """What is pruned of a log.

    Args:
        before: the seq before which it is; ``None`` for the end of the log.
        until: milliseconds since the epoch; what was written from then on stays. ``None`` for any time.
    """

    before: int | None = None
    until: int | None = None


class Program(NamedTuple):
    """What a program says that keeps records in a log.

    Args:
        keep: seqs of the log at which the conversation stays as it is.
        records: what is left of each of its records, as JSON, by their seqs; ``None`` if it says nothing of them.
        gone: the first and the last seq of positions that the agent cannot go back to, because of these records.
    """

    keep: Sequence[int] = ()
    records: Mapping[int, str] | None = None
    gone: Sequence[Sequence[int]] = ()


class Pruned(NamedTuple):
    """The plan of a prune.

    Args:
        redactions: what becomes of the events.
        before: the seq before which it is.
        kept: how many events stay only because of a mark, a redo, a program, or another agent.
        heirs: the rows of the agents for which some of these stay.
        size: how many bytes of text go, less those of the markers; not below 0.
    """

    redactions: Redactions
    before: int
    kept: int
    heirs: set[int]
    size: int

    @property
    def affected(self) -> set[int]:
        """The rows of all agents whose past has one of the events."""
        return self.redactions.affected


def plan_prune(row: int, point: Point, pruning: Pruning, program: Program = Program()) -> Plan[Pruned]:  # noqa: B008 - immutable
    """Find what is pruned of an agent's own log.

    Raises:
        InvalidParams: the log does not have a record that the program names, or more of it would be left than it has.
    """
    head: int = yield partial(_head, row=row)
    before = head + 1 if point.before is None else min(point.before, head + 1)
    if point.until is not None:
        before = min(before, (yield from _first_since(row, head, point.until)))
    reach = Reach(row, before)
    yield from reach.find(program.keep)
    scan = _Scan(reach, pruning)
    yield from pages(scan.page)
    yield from scan.end()
    if program.records is None:
        yield from scan.take_copies()
    else:
        yield from scan.take_records(program.records)
    found = [scan.found[event] for event in sorted(scan.found)]
    others: set[int] = yield partial(affected, found=found)
    keys = (yield from plan_keys(pruning, {row}, before)) if found else []
    return Pruned(Redactions(found, others, [], keys, None), before, scan.kept, scan.heirs, max(scan.size, 0))


def _head(connection: Connection, row: int) -> int:
    found = connection.execute(_HEAD, (row,)).fetchone()
    return 0 if found is None else int(found[0])


def _first_since(row: int, head: int, until: int) -> Plan[int]:
    """Return the seq from which on all events are of a time or later."""
    first, more = head + 1, True
    while more:
        first, more = yield partial(_since, row=row, last=first - 1, until=until)
    return first


def _since(connection: Connection, row: int, last: int, until: int) -> tuple[int, bool]:
    first = last + 1
    rows = connection.execute(_TIMES, (row, last, _LOOKED_AT)).fetchall()
    for seq, time in rows:
        if time < until:
            return first, False
        first = seq
    return first, len(rows) == _LOOKED_AT


class _Row(NamedTuple):
    """What is read of an event."""

    id: int
    seq: int
    kind: str
    content: str | None
    data_json: str | None
    ref: str | None


class _Made(NamedTuple):
    """What an event becomes, and how many bytes of text go."""

    event: RedactedEvent
    size: int


class _Scan:
    """Collects what is pruned.

    Args:
        reach: what is not.
        pruning: makes it.
    """

    def __init__(self, reach: Reach, pruning: Pruning) -> None:
        self._reach = reach
        self._pruning = pruning
        # Of each key, the events that set it, ascending by their seqs, and what each would become.
        self._values: dict[str, list[tuple[int, _Made | None]]] = {}
        # Prompts that are not reached, and what those say that are.
        self._prompts: list[tuple[_Row, _Made]] = []
        self._repeated: set[tuple[str | None, str | None]] = set()
        # The records that messages name as their copies: pruned ones, and others.
        self._copies: set[int] = set()
        self._needed: set[int] = set()
        self.found: dict[int, RedactedEvent] = {}
        self.kept = 0
        self.heirs: set[int] = set()
        self.size = 0

    def page(self, connection: Connection, after: int) -> int | None:
        """Look at a page of the log; return the seq after which the next one begins, ``None`` at the end."""
        values = (self._reach.row, after, self._reach.before, _PAGE)
        rows = [_Row(*row) for row in connection.execute(_BEFORE, values).fetchall()]
        for row in rows:
            if row.kind == "state":
                self._values.setdefault(row.content or "", []).append((row.seq, self._made(connection, row)))
            elif row.kind in CONVERSATION:
                self._take(connection, row)
        return rows[-1].seq if len(rows) == _PAGE else None

    def end(self) -> Plan[None]:
        """Take what the whole log tells: values that are not the newest anywhere, and prompts."""
        for known in self._values.values():
            self._take_values(known)
        yield self._take_prompts

    def take_copies(self) -> Plan[None]:
        """Take the copies that nothing needs."""
        copies = {seq for seq in self._copies if self._reach.last_inherited < seq < self._reach.before}
        if copies:
            yield from pages(self._need, self._reach.before)
        if copies := copies - self._needed:
            yield partial(self._take_copies, seqs=sorted(copies))

    def take_records(self, records: Mapping[int, str]) -> Plan[None]:
        """Take of records what a program does not say is left; a record that another agent has in its past stays."""
        seqs = sorted(records)
        for first in range(0, len(seqs), _PAGE):
            yield partial(self._take_records, seqs=seqs[first : first + _PAGE], records=records)

    def _take(self, connection: Connection, row: "_Row") -> None:
        """Take an event of a conversation, unless it is reached."""
        is_own = row.id in self._reach.own
        if is_own or row.id in self._reach.others:
            if row.kind == "system":
                self._repeated.add((row.content, row.data_json))
            self._needed.update(copies_in(row.kind, row.content, row.data_json))
            if not is_own:
                self.kept += 1
                self.heirs.update(filter(None, [self._reach.others[row.id]]))
        elif (made := self._made(connection, row)) is None:
            return
        elif row.kind == "system":
            self._prompts.append((row, made))
        else:
            self._copies.update(copies_in(row.kind, row.content, row.data_json))
            self._put(made)

    def _take_values(self, known: Sequence[tuple[int, "_Made | None"]]) -> None:
        """Take all events of a key but the newest, and those that were the newest for another agent."""
        seqs = [seq for seq, _ in known]
        newest: dict[int, set[int]] = {len(seqs) - 1: set()}
        for upto, heir in self._reach.positions:
            place = bisect_right(seqs, upto) - 1
            if 0 <= place < len(seqs) - 1:
                newest.setdefault(place, set()).add(heir)
        for place, (_, made) in enumerate(known):
            if place not in newest:
                if made is not None:
                    self._put(made)
            elif heirs := newest[place]:
                self.kept += 1
                self.heirs |= heirs

    def _take_prompts(self, connection: Connection) -> None:
        """Take the prompts that are not reached, but for those that a `clear` repeats: they stay alike.

        A clear at the point itself is the only one whose prompt is not reached before it.
        """
        values = (self._reach.row, self._reach.before - 1, NEWEST, 2)
        first = [_Row(*row) for row in connection.execute(_BEFORE, values).fetchall()]
        if [row.kind for row in first] == ["clear", "system"]:
            self._repeated.add((first[1].content, first[1].data_json))
        for row, made in self._prompts:
            if (row.content, row.data_json) not in self._repeated:
                self._put(made)

    def _need(self, connection: Connection, after: int) -> int | None:
        """Look at which copies are needed by what is said from a seq on."""
        rows = connection.execute(_AFTER, (self._reach.row, after, _PAGE)).fetchall()
        for _, kind, content, data_json in rows:
            if kind in CONVERSATION:
                self._needed.update(copies_in(kind, content, data_json))
        return rows[-1][0] + 1 if len(rows) == _PAGE else None

    def _take_copies(self, connection: Connection, seqs: Sequence[int]) -> None:
        for row in connection.execute(_OF_SEQS, (self._reach.row, Numbers(seqs))).fetchall():
            made = self._made(connection, _Row(*row))
            if made is not None and made.event.kind == _FOR_PROGRAMS:
                self._put(made)

    def _take_records(self, connection: Connection, seqs: Sequence[int], records: Mapping[int, str]) -> None:
        rows = [_Row(*row) for row in connection.execute(_OF_SEQS, (self._reach.row, Numbers(seqs))).fetchall()]
        known = {row.seq for row in rows if row.kind == _FOR_PROGRAMS and row.data_json is not None}
        if missing := [seq for seq in seqs if seq not in known]:
            raise InvalidParams(f"records: the log has no command record with data at #{missing[0]}", field="records")
        positions = self._reach.positions
        for row in rows:
            made = Redacted(row.content, records[row.seq], row.ref, is_restructured=False)
            size = _size(row.data_json) - _size(made.data_json)
            if heirs := {heir for _, heir in positions[bisect_left(positions, (row.seq, 0)) :]}:
                self.kept += 1
                self.heirs |= heirs
            elif size < 0:
                raise InvalidParams(
                    f"records: {-size} bytes more than #{row.seq} has cannot be left of it", field="records"
                )
            elif made.data_json != row.data_json:
                self._put(_Made(RedactedEvent(row.id, self._reach.row, row.seq, row.kind, None, None, made), size))

    def _made(self, connection: Connection, row: "_Row") -> "_Made | None":
        """Return what an event becomes; ``None`` if it was pruned before, or has nothing that could be."""
        _, seq, kind, content, data_json, ref = row
        made = self._pruning.event(kind, content, data_json, ref)
        if made is None or pruned_as(connection, row.id, self._reach.row, kind, content, data_json) is not None:
            return None
        size = _size(content, data_json) - _size(made.content, made.data_json)
        return _Made(RedactedEvent(row.id, self._reach.row, seq, kind, None, None, made), size)

    def _put(self, made: "_Made") -> None:
        self.found[made.event.id] = made.event
        self.size += made.size


def _size(*texts: str | None) -> int:
    return sum(len(text.encode()) for text in texts if text is not None)
