"""Determines which events a redaction changes, in the past of an agent and in that of others.

The past of an agent is its own log, what it inherited, and what it took over from others with ``clone`` into it. What
is redacted there is redacted for all agents. Those that inherited it are *affected*; what they repeat of it in their
own events is redacted as well: the prompt after a ``clear``, the label of a ``rewind``, and a title or tag that came
with a clone. So is the reason that a ``kill`` with ``cascade`` gave to all that it killed.

A plan is a generator of jobs for a reading connection, so that others read in between: see :mod:`reeld.store.plans`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.said.item_forms import COPIES_OF
from reel.said.kinds import CONVERSATION, INERT, ROLES
from reeld.core.events import data_of
from reeld.core.item_forms import copies_in, later_copies_in, place_in, without_form
from reeld.core.redaction import Redacted, Redaction
from reeld.store.affected import affected
from reeld.store.connection import Connection, Numbers
from reeld.store.erasures import Labels, Outdated
from reeld.store.history import lineage
from reeld.store.plans import Plan, pages
from reeld.store.queries import clones
from reeld.store.redacted_keys import plan_keys
from reeld.store.redacted_labels import redacted_labels
from reeld.store.redactions import RedactedEvent, Redactions
from reeld.store.spans import NEWEST, Lineage

# Events that are read at a time.
_PAGE = 500
# Seqs of which the records are looked at that may hold later copies.
_LOOKED_AT = 5000
# Kinds that a seq may name: the others have content only in a title or a tag.
_BY_SEQ = CONVERSATION | INERT | {"mark", "agent_killed", "rewind"}
# The kind of records that only programs read.
_FOR_PROGRAMS = "command"
_COLUMNS = "e.id, e.agent, e.seq, e.kind, e.content, e.data_json, e.ref, e.time"
_SPAN = f"SELECT {_COLUMNS} FROM events e WHERE e.agent = :owner AND e.seq > :after AND e.seq <= :upto"
_ORDER = " ORDER BY e.seq LIMIT :limit"
# No LIMIT: there are no more than seqs in the page.
_LATER_COPIES = f" AND e.kind = '{_FOR_PROGRAMS}' AND instr(e.data_json, '\"{COPIES_OF}\"') > 0 ORDER BY e.seq"
_AT = f"SELECT {_COLUMNS} FROM events e WHERE e.agent = ? AND e.seq = ?"
_OF_SEQS = " AND e.seq IN (SELECT value FROM json_each(:seqs))"
# Kinds of events in which an agent repeats what it inherited.
_REPEATING = """
    AND (e.kind IN ('changed', 'rewind', 'agent_killed') OR e.kind = 'system' AND EXISTS (
        SELECT 1 FROM events c WHERE c.agent = e.agent AND c.seq = e.command AND c.kind = 'clear'))
"""
_BY_ID = f"SELECT {_COLUMNS} FROM events e WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id"
# What an agent took over from others with `clone` into it.
_TAKEN_OVER = """
    WITH RECURSIVE path (id, agent, parent) AS (
        SELECT p.id, p.agent, p.parent FROM events c JOIN events p ON p.id = c.parent
        WHERE c.agent = :row AND c.seq <= :upto AND c.kind = 'clone'
        UNION
        SELECT e.id, e.agent, e.parent FROM path JOIN events e ON e.id = path.parent
    )
    SELECT id, agent FROM path WHERE agent <> :row ORDER BY id
"""


class Past(NamedTuple):
    """The past of an agent, or some events of it, in a form in which a backup can be searched for it as well.

    A backup may lack states that the agent took over later. If an older backup was restored since, or if it is of
    another database, it may have other agents and events under the same numbers.

    Args:
        uids: the ids of the agents in whose logs it is, by their rows.
        line: the logs that belong to it, each with the last seq.
        events: the ids of other events.
        times: when these were written, if some were selected.
    """

    row: int
    uids: Mapping[int, str]
    line: Sequence[tuple[int, int]]
    events: Sequence[int]
    times: Mapping[int, int]


class _Row(NamedTuple):
    """What is read of an event."""

    id: int
    owner: int
    seq: int
    kind: str
    content: str | None
    data_json: str | None
    ref: str | None
    time: int

    def made(self, made: Redacted) -> RedactedEvent:
        """Return the event with its new form."""
        return RedactedEvent(self.id, self.owner, self.seq, self.kind, self.content, self.data_json, made)


class _Scan:
    """Collects the events to redact.

    Args:
        past: where to look.
    """

    def __init__(self, redaction: Redaction, past: Past) -> None:
        self._redaction = redaction
        self._past = past
        self._names: dict[int, str] = {}
        # The agents of the past that this file has.
        self.agents: set[int] = set()
        self.found: dict[int, RedactedEvent] = {}
        # Who killed others for which redacted reason: the id of the agent, and the reason.
        self.kills: set[tuple[Any, Any]] = set()

    def identify(self, connection: Connection) -> None:
        """Learn which agents of the past this file has: a backup may have others in their rows, or none."""
        self.agents = {row for row, _ in self._past.uids.items() & _uids(connection, self._past.uids).items()}

    def span(self, connection: Connection, owner: int, after: int, upto: int) -> int | None:
        """Look at a page of an agent's log; return the seq after which the next one begins, ``None`` at the end."""
        values = {"owner": owner, "after": after, "upto": upto, "limit": _PAGE}
        rows = _rows(connection, _SPAN + _ORDER, values)
        self._take(connection, rows)
        return rows[-1].seq if len(rows) == _PAGE else None

    def ids(self, connection: Connection, ids: Sequence[int]) -> None:
        """Look at events by their ids, unless this file has other events under these."""
        times = self._past.times
        rows = _by_id(connection, ids)
        known = [row for row in rows if row.owner in self.agents and times.get(row.id, row.time) == row.time]
        self._take(connection, known)

    def forms(self, connection: Connection) -> None:
        """Remove the form of each item that has a redacted message; it is stored with the item's first message."""
        for each in [*self.found.values()]:
            place = place_in(each.kind, each.content, each.data_json)
            for row in _rows(connection, _AT, (each.owner, each.seq - place)) if place else []:
                made = None if row.id in self.found else without_form(row.kind, row.content, row.data_json)
                if made is not None:
                    redacted = Redacted(made.content, made.data_json, row.ref, is_restructured=False)
                    self.found[row.id] = row.made(redacted)

    def copies(self, connection: Connection) -> None:
        """Look at the records that hold copies of the messages that were found, in the logs of these."""
        for each in [*self.found.values()]:
            for seq in copies_in(each.kind, each.content, each.data_json):
                rows = _rows(connection, _AT, (each.owner, seq))
                # Nothing that people read: a message that was copied elsewhere may name seqs of other events there.
                self._take(connection, [row for row in rows if row.kind == _FOR_PROGRAMS])

    def later_copies(self, connection: Connection, owner: int, seqs: Sequence[int], after: int) -> int | None:
        """Look at a page of an agent's records that say of which messages they have the content.

        Args:
            connection: reads them.
            owner: the agent.
            seqs: the messages of its past that were found, ascending.
            after: the seq after which the page begins.

        Returns:
            where to continue, like :meth:`span`.
        """
        last = connection.execute("SELECT max(seq) FROM events WHERE agent = ?", (owner,)).fetchone()[0] or 0
        upto = after + _LOOKED_AT
        values = {"owner": owner, "after": after, "upto": upto}
        for row in _rows(connection, _SPAN + _LATER_COPIES, values):
            paths = [copy.path for copy in later_copies_in(row.data_json) if _has_any(seqs, copy.stretches)]
            if () in paths:
                self._take(connection, [row])
            elif paths:
                self._take_places(row, paths)
        return upto if upto < last else None

    def _take_places(self, row: _Row, paths: Sequence[Sequence[str]]) -> None:
        data_json = self._redaction.places(row.data_json, paths)
        if row.id not in self.found and data_json != row.data_json:
            self.found[row.id] = row.made(Redacted(row.content, data_json, row.ref, is_restructured=False))

    def repeats(self, connection: Connection, owner: int, after: int) -> int | None:
        """Look at what an affected agent repeats of its past; return where to continue, like :meth:`span`."""
        values = {"owner": owner, "after": after, "upto": NEWEST, "limit": _PAGE}
        rows = _rows(connection, _SPAN + _REPEATING + _ORDER, values)
        prompts = {(each.content, each.data_json) for each in self.found.values() if each.kind == "system"}
        marks = {each.seq for each in self.found.values() if each.kind == "mark"}
        self._take(connection, [row for row in rows if self._is_repeated(row, prompts, marks)])
        return rows[-1].seq if len(rows) == _PAGE else None

    def _is_repeated(self, row: _Row, prompts: set[tuple[Any, Any]], marks: set[int]) -> bool:
        if row.kind == "system":
            return (row.content, row.data_json) in prompts
        if row.kind == "agent_killed":
            return _kill(row.data_json) in self.kills
        if row.kind == "rewind":
            return not self._redaction.is_whole or data_of(row.data_json).get("target") in marks
        return not self._redaction.is_whole

    def _take(self, connection: Connection, rows: Iterable[_Row]) -> None:
        for row in rows:
            if row.id in self.found:
                continue
            name = self._name(connection, row.owner)
            made = self._redaction.event(row.kind, row.content, row.data_json, row.ref, name)
            if made is not None:
                self.found[row.id] = row.made(made)

    def _name(self, connection: Connection, owner: int) -> str:
        if owner not in self._names:
            (self._names[owner],) = connection.execute("SELECT name FROM agents WHERE id = ?", (owner,)).fetchone()
        return self._names[owner]


def plan_past(row: int, seqs: list[int] | None) -> Plan[Past]:
    """Find the past of an agent.

    Args:
        seqs: the only events that are to be redacted; ``None`` for all.

    Raises:
        InvalidParams: a seq is of no event that may have content.
    """
    spans: Lineage = yield partial(lineage, row=row, head=NEWEST)
    line = [(owner, last) for owner, _, last in spans]
    owners = {owner for owner, _ in line}
    brought: list[int] = []
    for owner, last in line:
        ids, others = yield partial(_taken_over, row=owner, upto=last)
        brought += ids
        owners |= others
    uids = yield partial(_uids, rows=owners)
    if seqs is None:
        return Past(row, uids, line, brought, {})
    found: list[_Row] = []
    for owner, last in line:
        found += yield partial(_with_seqs, owner=owner, upto=last, seqs=seqs)
    for first in range(0, len(brought), _PAGE):
        found += yield partial(_by_id, ids=brought[first : first + _PAGE])
    selected = [each for each in found if each.seq in seqs and each.kind in _BY_SEQ]
    if missing := sorted({*seqs} - {each.seq for each in selected}):
        raise InvalidParams(
            f"seqs: {missing[0]} is not a message or another event with content in the past of this agent;"
            " reel log shows all, and text redacts titles and tags",
            field="seqs",
            seq=missing[0],
        )
    return Past(row, uids, [], [each.id for each in selected], {each.id: each.time for each in selected})


def plan_redaction(past: Past, redaction: Redaction) -> Plan[Redactions]:
    """Find what is redacted in the past of an agent, in the database or in a backup of it."""
    scan = _Scan(redaction, past)
    yield scan.identify
    own = {past.row} & scan.agents
    for owner, last in past.line:
        if owner in scan.agents:
            yield from pages(partial(scan.span, owner=owner, upto=last))
    for first in range(0, len(past.events), _PAGE):
        yield partial(scan.ids, ids=past.events[first : first + _PAGE])
    if redaction.is_whole:
        yield scan.copies
        yield from _plan_later_copies(scan)
        yield scan.forms
    reached: set[int] = yield partial(affected, found=list(scan.found.values()))
    reached |= yield partial(_killed_with, scan=scan)
    if not redaction.is_whole:
        # A clone has its title and its tags from its source.
        family: set[int] = yield partial(_with_clones, rows=own | reached)
        inherited: list[Labels] = yield partial(redacted_labels, redaction=redaction, rows=sorted(family))
        reached |= {each.row for each in inherited}
    for agent in sorted(reached):
        yield from pages(partial(scan.repeats, owner=agent))
    labels: list[Labels] = []
    if not redaction.is_whole:
        labels = yield partial(redacted_labels, redaction=redaction, rows=sorted(reached))
    found = [scan.found[event] for event in sorted(scan.found)]
    # A clone's former name is nowhere but in its keys.
    rows = reached if redaction.is_whole else reached | own
    keys = (yield from plan_keys(redaction, rows)) if rows else []
    outdated = None
    if restructured := [each for each in found if each.made.is_restructured]:
        # Without their milestones, all others would read long conversations from the beginning.
        agents: set[int] = yield partial(affected, found=restructured)
        outdated = Outdated(restructured[0].id, sorted(agents))
    return Redactions(found, reached, labels, keys, outdated)


def _plan_later_copies(scan: _Scan) -> Plan[None]:
    """Find the records that hold copies of the messages that were found, in the logs of all that have them."""
    messages = [each for each in scan.found.values() if each.kind in ROLES]
    reached: set[int] = yield partial(affected, found=messages)
    for agent in sorted(reached):
        line: Lineage = yield partial(lineage, row=agent, head=NEWEST)
        ends = {owner: upto for owner, _, upto in line}
        seqs = sorted({each.seq for each in messages if each.seq <= ends.get(each.owner, 0)})
        if seqs:
            yield from pages(partial(scan.later_copies, owner=agent, seqs=seqs), seqs[0])


def _has_any(seqs: Sequence[int], stretches: Iterable[tuple[int, int]]) -> bool:
    return any(bisect_left(seqs, first) < bisect_right(seqs, last) for first, last in stretches)


def _taken_over(connection: Connection, row: int, upto: int) -> tuple[list[int], set[int]]:
    """Return the ids of the events that an agent took over, and their agents."""
    rows = connection.execute(_TAKEN_OVER, {"row": row, "upto": upto}).fetchall()
    return [event for event, _ in rows], {owner for _, owner in rows}


def _with_seqs(connection: Connection, owner: int, upto: int, seqs: list[int]) -> list[_Row]:
    values = {"owner": owner, "after": 0, "upto": upto, "seqs": Numbers(seqs)}
    return _rows(connection, _SPAN + _OF_SEQS, values)


def _by_id(connection: Connection, ids: Sequence[int]) -> list[_Row]:
    return _rows(connection, _BY_ID, (Numbers(ids),))


def _rows(connection: Connection, query: str, values: Any) -> list[_Row]:
    return [_Row(*row) for row in connection.execute(query, values).fetchall()]


def _uids(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the ids of the agents in these rows, by their rows."""
    query = "SELECT id, uid FROM agents WHERE id IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(query, (Numbers(sorted(rows)),)).fetchall())


def _killed_with(connection: Connection, scan: _Scan) -> set[int]:
    """Return the rows of the agents that were killed together with one whose reason is redacted; note these reasons."""
    kills = [each for each in scan.found.values() if each.kind == "agent_killed"]
    roots = {each.owner for each in kills}
    uids = _uids(connection, roots)
    scan.kills = {(uids[each.owner], _kill(each.data_json)[1]) for each in kills}
    killed: set[int] = set()
    for row in _with_clones(connection, roots):
        rows = connection.execute("SELECT data_json FROM events WHERE agent = ? AND kind = 'agent_killed'", (row,))
        if any(_kill(data_json) in scan.kills for (data_json,) in rows.fetchall()):
            killed.add(row)
    return killed


def _kill(data_json: str | None) -> tuple[Any, Any]:
    """Return which other agent an agent was killed with, and the reason."""
    data = data_of(data_json)
    return data.get("by"), data.get("reason")


def _with_clones(connection: Connection, rows: set[int]) -> set[int]:
    return rows.union(clone.row for clone in clones(connection, rows))
