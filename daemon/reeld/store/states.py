"""The implementation of :class:`reeld.core.reading.Log` in SQL.

A damaged event stays in a state as an empty record. If its parent link is damaged too, or an event is missing, what was
before it is recovered, or the state begins there: it never contains events of another conversation.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from operator import itemgetter
from sys import intern
from typing import Any, TypeVar

from reel.base.light_typing import NamedTuple
from reel.said.blocks import InvalidRecord
from reeld.core.events import Mark, Node, Origin, Pack, entry, label_of, read
from reeld.core.milestones import Milestone, Waypoint
from reeld.core.tree import tip_after
from reeld.store.checksums import AGENT, CHECKSUM, DAMAGED, EVENT_COLUMNS, ID, PARENT, SEQ, is_intact
from reeld.store.connection import Connection, DatabaseError, Numbers
from reeld.store.milestones import chain, milestone
from reeld.store.positions import tip_before

T = TypeVar("T")
_CUT = f"{DAMAGED}, and what was said before it is not known"
_UNKNOWN = "the event before it is not in the file, and what was said before it is not known"
# Nodes that one query follows, 4 ms. For as long as it is open, the WAL cannot be overwritten, and grows; when it is
# large, commits wait for the query, and for the next one.
_FOLLOWED = 1000
# `e.id < path.id` ends the walk even in a damaged log in which a parent is not older than its child.
_PLAIN_WALK = f"""
    WITH RECURSIVE path (id, parent) AS (
        SELECT id, parent FROM events WHERE id = ?
        UNION ALL
        SELECT e.id, e.parent FROM path JOIN events e ON e.id = path.parent AND e.id < path.id
    )
    SELECT {EVENT_COLUMNS}, 0 FROM path CROSS JOIN events e ON e.id = path.id
"""
_HAS_MILESTONE = CHECKSUM + 1
_ID_OF = itemgetter(ID)
_LIMIT = " LIMIT ?"
_WALK = _PLAIN_WALK.replace(", 0 FROM", ", m.id IS NOT NULL FROM") + "LEFT JOIN milestones m ON m.id = path.id" + _LIMIT
_PLAIN_WALK += _LIMIT
_BY_ID = f"SELECT {EVENT_COLUMNS}, 0 FROM events e WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id"
# The outer query looks the event up in the table: a damaged index could return an event of another agent.
_LAST = f"""
    SELECT {EVENT_COLUMNS} FROM events e
    WHERE e.id = (SELECT id FROM events WHERE agent = ? ORDER BY seq DESC LIMIT 1)
"""


class Skip(NamedTuple):
    """An event of the log that cannot be read, and why.

    Args:
        seq: its seq.
        field: what is wrong: ``checksum`` if it is damaged, ``id`` if it is missing, ``parent`` if what comes before it
            is unknown; else the field that is invalid, whose reason may quote content.
        reason: the reason.
    """

    seq: int
    field: str
    reason: str

    @property
    def quotes_nothing(self) -> bool:
        """Whether the reason never has content of a conversation."""
        return self.field in ("checksum", "id", "parent")


def sound_tip_of(connection: Connection, row: int, pack: Pack) -> tuple[int | None, list[Skip]]:
    """Return the tip of an agent's current state, and its last event if that is damaged and not a node.

    Raises:
        DatabaseError: the index of the events is damaged.
    """
    last = connection.execute(_LAST, (row,)).fetchone()
    return (None, []) if last is None else sound_tip_after(row, last, pack)


def sound_tip_after(row: int, last: Sequence[Any], pack: Pack) -> tuple[int | None, list[Skip]]:
    """Return what :func:`sound_tip_of` does.

    Args:
        row: the agent.
        last: the columns of what was found as its last event, and its checksum.
        pack: for the checksum.

    Raises:
        DatabaseError: as there.
    """
    event_id, agent, seq, _, kind, _, _, parent, *_, stored = last
    if agent != row:
        raise DatabaseError(f"the index has an event of the agent {agent} among those of the agent {row}")
    tip = tip_after(event_id, kind, parent)
    is_damaged = tip != event_id and not is_intact(pack, last, stored)
    return tip, [Skip(seq, "checksum", DAMAGED)] if is_damaged else []


class SqlLog:
    """The log, read through one connection; see :class:`reeld.core.reading.Log`."""

    def __init__(self, connection: Connection, pack: Pack) -> None:
        self._connection = connection
        self._pack = pack
        # The unreadable events that were encountered.
        self.skipped: list[Skip] = []
        self._has_milestones = True

    def path(self, tip: int) -> Iterator[tuple[Node, bool]]:
        """Yield the nodes from a tip to the root, the newest first, and whether each has a milestone.

        A row that cannot be read stays a record, and a damaged one an empty record; both are noted as skipped.
        """
        return self._walk(tip, self._node, _empty_node)

    def ids(self, tip: int) -> Iterator[int]:
        """Yield the ids of what :meth:`path` yields; only damaged rows are read."""
        return (node_id for node_id, _ in self._walk(tip, _ID_OF, _ID_OF))

    def nodes(self, ids: Sequence[int]) -> list[Node]:
        """Return nodes by their ascending ids; damaged ones are not noted again."""
        found = self._connection.execute(_BY_ID, (Numbers(ids),)).fetchall()
        return [self._node(row) if is_intact(self._pack, row, row[CHECKSUM]) else _empty_node(row) for row in found]

    def milestone(self, node_id: int) -> Milestone | None:
        """Return the milestone at a node; ``None`` if it is missing or damaged."""
        with suppress(DatabaseError):
            return milestone(self._connection, node_id, self._pack)
        return None

    def chain(self, node_id: int) -> Iterator[Waypoint]:
        """Yield the place of the milestone at a node, and of those before it; stop at a damaged one."""
        with suppress(DatabaseError):
            yield from chain(self._connection, node_id, self._pack)

    def _walk(
        self, tip: int | None, read_row: Callable[[Sequence[Any]], T], read_damaged: Callable[[Sequence[Any]], T]
    ) -> Iterator[tuple[T, bool]]:
        """Yield what is read from each row, the newest first, and whether it has a milestone.

        A query follows the parents. ``tip`` is always where another one has to begin, if this one ends:

        =============================================  =====================================================
        the query                                      then
        =============================================  =====================================================
        ends at the root                               there is nothing more
        ends after so many rows                        another one begins at the parent of the last one
        has a damaged row whose parent is as stored    it goes on
        has one whose parent is known from the log     another one begins at that parent
        has one whose parent is not known              there is nothing more; it is noted that the rest is missing
        ends because a parent is missing               another one begins before the gap that this is in
        fails                                          another one begins at the same tip, without milestones:
                                                       their table may be what cannot be read
        =============================================  =====================================================
        """
        pack, owner, child = self._pack, None, None
        while tip is not None:
            try:
                walk = _WALK if self._has_milestones else _PLAIN_WALK
                with closing(self._connection.execute(walk, (tip, _FOLLOWED))) as rows:
                    followed = 0
                    for row in rows:
                        followed += 1
                        child, stored, has_milestone = row, row[CHECKSUM], bool(row[_HAS_MILESTONE])
                        if is_intact(pack, row, stored):
                            owner, tip = row[AGENT], row[PARENT]
                            yield read_row(row), has_milestone
                            continue
                        parent = _parent_of_damaged(self._connection, row, stored, owner, pack)
                        self.skipped.append(Skip(row[SEQ], "checksum", DAMAGED if parent else _CUT))
                        owner, tip = row[AGENT], parent[0] if parent else None
                        yield read_damaged(row), has_milestone
                        if row[PARENT] not in parent:
                            break
                    else:
                        goes_on = followed == _FOLLOWED and tip is not None and tip < row[ID]
                        tip = tip if goes_on or tip is None else self._tip_before_missing(tip, child)
            except DatabaseError:
                if not self._has_milestones:
                    raise
                self._has_milestones = False

    def _tip_before_missing(self, missing: int, child: Sequence[Any] | None) -> int | None:
        """Return the tip before a missing node, and note that as skipped.

        Args:
            missing: the id of the node.
            child: the event whose parent it is, if any.
        """
        if child is None:
            return None
        is_older = missing < child[ID]  # otherwise the log is damaged in another way, and the walk would go in circles
        gap = _gap_of(self._connection, child[AGENT], missing) if is_older else None
        if gap is None:
            self.skipped.append(Skip(child[SEQ], "parent", _UNKNOWN))
            return None
        more = gap.seqs[1:]
        reason = (
            f"events {gap.seqs[0]} to {more[-1]} are missing from the file" if more else "it is missing from the file"
        )
        self.skipped.append(Skip(gap.seqs[0], "id", reason))
        return gap.tip if gap.tip is None or gap.tip < missing else None  # as above

    def _node(self, row: Sequence[Any]) -> Node:
        event_id, _, seq, _, kind, content, data_json, _, _, time, sent, ref, _, _ = row
        message = tools = None
        origin = None if sent is None and ref is None else Origin(sent, ref)
        if kind == "mark":
            return Mark(event_id, seq, label_of(data_json))
        try:
            message, tools = read(self._pack, kind, content, data_json, seq, time, origin)
        except InvalidRecord as error:
            self.skipped.append(Skip(seq, error.field, error.reason))
        # SQLite returns a new string for each row, and there are few kinds.
        made = entry(event_id, seq, intern(kind), content, data_json, time, message, tools)
        return made if origin is None else made._replace(origin=origin)


def origin_of(columns: Sequence[Any]) -> Origin | None:
    """Return the origin of an event, from its last columns; ``None`` if these are empty."""
    sent, ref = columns
    return None if sent is None and ref is None else Origin(sent, ref)


def _empty_node(row: Sequence[Any]) -> Node:
    event_id, _, seq, _, kind, _, _, _, _, time, *_ = row
    return Mark(event_id, seq, None) if kind == "mark" else entry(event_id, seq, kind, None, None, time, None, None)


class _Gap(NamedTuple):
    """The seqs of events that are missing in a log, and the tip before them."""

    seqs: range
    tip: int | None


def _gap_of(connection: Connection, agent: int, missing: int) -> _Gap | None:
    """Return the gap in the log of an agent, or of one that it was cloned from, where a missing node should be.

    The queries for seqs read only the index, which may still list the node.

    Args:
        agent: the agent of the event whose parent it is.
        missing: the id of the node.
    """
    owner: int | None = agent
    while owner is not None:
        before = connection.execute(
            "SELECT id, seq FROM events WHERE agent = ? AND id < ? ORDER BY seq DESC LIMIT 1", (owner, missing)
        ).fetchone()
        after = connection.execute(
            "SELECT seq FROM events WHERE agent = ? AND id > ? ORDER BY seq LIMIT 1", (owner, missing)
        ).fetchone()
        head, source = connection.execute("SELECT head, source FROM agents WHERE id = ?", (owner,)).fetchone()
        seqs = range(0) if before is None else range(before[1] + 1, head + 1 if after is None else after[0])
        if seqs:
            found = connection.execute("SELECT id, kind, parent FROM events WHERE id = ?", (before[0],)).fetchone()
            return _Gap(seqs, before[0] if found is None else tip_after(*found))
        owner = None if source is None or source >= owner else source
    return None


def _parent_of_damaged(
    connection: Connection, row: Sequence[Any], stored: int, owner: int | None, pack: Pack
) -> list[int | None]:
    """Return the parent of a damaged node in a list, empty if the stored one may belong to another conversation.

    Args:
        row: the columns of the event.
        stored: its checksum.
        owner: the agent of the node that it is the parent of, if any.
    """
    event_id, agent, seq, _, _, _, _, parent, *_ = row
    expected = tip_before(connection, agent, seq)
    if parent == expected:
        return [parent]
    if expected is not None and expected < event_id:
        repaired = [*row[:PARENT], expected, *row[PARENT + 1 :]]
        if is_intact(pack, repaired, stored):  # only the parent has changed
            return [expected]
    found = connection.execute("SELECT agent FROM events WHERE id = ?", (parent,)).fetchone()
    return [parent] if found is not None and found[0] in (agent, owner) else []
