"""Determines what can be reached of an agent's log before a seq, which a prune therefore leaves as it is.

A state is a path to the root, so what is reached is found by walking from the tips of all states that anything leads
to. Where a log does not jump, the newest tip is enough, because the others are on its path.
"""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from operator import itemgetter

from reel.base.light_typing import NamedTuple
from reeld.core.undo import Undone
from reeld.store.affected import affected
from reeld.store.connection import Connection, Numbers
from reeld.store.history import lineage
from reeld.store.plans import Plan
from reeld.store.positions import position, tip_before, tip_of
from reeld.store.queries import redo_target
from reeld.store.schema import JUMPS
from reeld.store.spans import NEWEST

# The most parents that are followed at a time.
_FOLLOWED = 1000
_FIRST = "SELECT id, seq FROM events WHERE agent = ? ORDER BY seq LIMIT 1"
_JUMPED = f"SELECT parent FROM events WHERE agent = ? AND seq >= ? AND {JUMPS} AND parent IS NOT NULL"  # noqa: S608 - our own words
_ALL_PARENTS = "SELECT parent FROM events WHERE agent = ? AND seq >= ? AND parent IS NOT NULL"
_OF_AGENT = "SELECT id FROM events WHERE agent = ? AND id IN (SELECT value FROM json_each(?))"
_WALK = """
    WITH RECURSIVE path (id, parent) AS (
        SELECT id, parent FROM events WHERE id = :tip AND agent = :row
        UNION ALL
        SELECT e.id, e.parent FROM path JOIN events e ON e.id = path.parent AND e.id < path.id AND e.agent = :row
    )
    SELECT id, parent FROM path LIMIT :limit
"""


class Reach:
    """What can be reached of an agent's log before a seq.

    Args:
        row: the agent.
        before: the seq.
    """

    def __init__(self, row: int, before: int) -> None:
        self.row = row
        self.before = before
        # The ids of the events that belong to the positions from the seq on; and to other states, with the agent that
        # reaches them, if it is another one.
        self.own: set[int] = set()
        self.others: dict[int, int | None] = {}
        # The seqs up to which other agents have the log in their past, ascending, and these agents.
        self.positions: list[tuple[int, int]] = []

    def find(self, keep: Sequence[int]) -> Plan[None]:
        """Find it.

        Args:
            keep: other seqs at which the conversation stays.
        """
        for tip in (yield self._own_tips):
            yield from self._walk(tip, None)
        for tip in (yield self._marks):
            yield from self._walk(tip, self.row)
        newest: int | None = NEWEST
        while newest is not None:
            redone: Undone | None = yield partial(redo_target, row=self.row, head=newest)
            newest = None
            if redone is not None:
                yield from self._walk((yield partial(position, row=self.row, at=redone.command)).tip, self.row)
                newest = redone.undo - 1
        for at in keep:
            yield from self._walk((yield partial(position, row=self.row, at=at)).tip, self.row)
        for other, is_gone in (yield self._heirs):
            for tip in (yield partial(self._tips_of, other=other, is_gone=is_gone)):
                yield from self._walk(tip, other)

    @property
    def last_inherited(self) -> int:
        """The last seq that another agent has in its past."""
        return self.positions[-1][0] if self.positions else 0

    def _own_tips(self, connection: Connection) -> list[int]:
        first = connection.execute(
            "SELECT parent FROM events WHERE agent = ? AND seq >= ? ORDER BY seq LIMIT 1", (self.row, self.before)
        ).fetchone()
        tips = {parent for (parent,) in connection.execute(_JUMPED, (self.row, self.before)).fetchall()}
        tips.add(tip_of(connection, self.row))
        tips.add(tip_before(connection, self.row, self.before) if first is None else first[0])
        return sorted(tips - {None}, reverse=True)

    def _marks(self, connection: Connection) -> list[int]:
        query = "SELECT id FROM events WHERE agent = ? AND kind = 'mark' AND seq < ? ORDER BY seq DESC"
        return [mark for (mark,) in connection.execute(query, (self.row, self.before)).fetchall()]

    def _heirs(self, connection: Connection) -> list[tuple[int, bool]]:
        """Return the agents that have some of the log in their past, and whether each was purged."""
        first = connection.execute(_FIRST, (self.row,)).fetchone()
        if first is None:
            return []
        rows = sorted(affected(connection, [_Place(first[0], self.row, first[1])]) - {self.row})
        query = "SELECT id, name FROM agents WHERE id IN (SELECT value FROM json_each(?))"
        found = connection.execute(query, (Numbers(rows),)).fetchall()
        for other, _ in found:
            self.positions += [
                (upto, other) for owner, _, upto in lineage(connection, other, NEWEST) if owner == self.row
            ]
        self.positions.sort()
        # Those that can be named come first: a purged one has what its heirs have.
        return sorted(((other, name == "") for other, name in found), key=itemgetter(1))

    def _tips_of(self, connection: Connection, other: int, *, is_gone: bool) -> list[int]:
        """Return the events of the log that another agent's events follow; of a purged one, jumps may be missing."""
        rows = connection.execute(_ALL_PARENTS if is_gone else _JUMPED, (other, 0)).fetchall()
        parents = Numbers(sorted({parent for (parent,) in rows}))
        tips = [tip for (tip,) in connection.execute(_OF_AGENT, (self.row, parents)).fetchall()]
        return sorted(tips, reverse=True)

    def _walk(self, tip: int | None, by: int | None) -> Plan[None]:
        """Follow the parents of an event, back to where they are known or in another log."""
        limit = 16  # most paths soon join a known one
        while tip is not None:
            tip = yield partial(self._follow, tip=tip, by=by, limit=limit)
            limit = min(2 * limit, _FOLLOWED)

    def _follow(self, connection: Connection, tip: int, by: int | None, limit: int) -> int | None:
        following: int | None = None
        values = {"tip": tip, "row": self.row, "limit": limit}
        with closing(connection.execute(_WALK, values)) as rows:
            for event, parent in rows:  # closed as soon as the path is known
                if event in self.own or event in self.others:
                    return None
                if by is None:
                    self.own.add(event)
                else:
                    self.others[event] = None if by == self.row else by
                following = parent
        return following if following is not None and following < tip else None


class _Place(NamedTuple):
    id: int
    owner: int
    seq: int
