"""Which events go when agents are purged, and which stay because the past of another agent needs them.

An agent that was cloned from a purged one may restore any state up to the position at which it was cloned. So it needs
all events up to there. An agent that took over a state with ``clone`` into it needs the events of that state alone.
"""

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from reeld.store.history import NEWEST, lineage
from reeld.store.redacting import Plan

# Events that are read at once.
_PAGE = 5000
_CLONES = """
    SELECT c.agent, c.seq, p.id, p.agent, p.seq FROM events c JOIN events p ON p.id = c.parent
    WHERE c.kind = 'clone' AND c.parent IS NOT NULL
"""
_PARENT = "SELECT id, agent, seq, parent FROM events WHERE id = ?"


class Purge(NamedTuple):
    """What goes, and what stays.

    Args:
        agents: the rows of the agents that go, with those that were purged before and of which something is left.
        events: the ids of the events that go.
        kept: how many of their events stay.
        heirs: the rows of the agents that need them.
    """

    agents: list[int]
    events: list[int]
    kept: int
    heirs: set[int]


class _Kept(NamedTuple):
    """The events of purged agents that stay: up to a seq, and single ones; and the agents that need them."""

    bounds: dict[int, int]
    single: set[int]
    heirs: set[int]

    def has(self, event: int, owner: int, seq: int) -> bool:
        return seq <= self.bounds.get(owner, -1) or event in self.single


def plan_purge(rows: set[int]) -> Plan[Purge]:
    """Find what goes if some agents are purged.

    Args:
        rows: the agents.
    """
    agents: list[int] = yield partial(_with_remnants, rows=rows)
    kept: _Kept = yield partial(_kept, purged=set(agents))
    gone: list[int] = []
    stay = 0
    for agent in agents:
        after: int | None = 0
        while after is not None:
            events, after = yield partial(_events, agent=agent, after=after)
            going = [event for event, seq in events if not kept.has(event, agent, seq)]
            stay += len(events) - len(going)
            gone += going
    return Purge(agents, sorted(gone), stay, kept.heirs)


def clones(connection: sqlite3.Connection, row: int, *, alive: bool) -> set[int]:
    """Return the clones of an agent, recursively: all, or only those that were killed."""
    found: set[int] = set()
    waiting = [row]
    while waiting:
        query = "SELECT id FROM agents WHERE source = ? AND name <> '' AND (? OR killed IS NOT NULL)"
        later = {clone for (clone,) in connection.execute(query, (waiting.pop(), alive))}
        found |= later
        waiting += later
    return found


def _with_remnants(connection: sqlite3.Connection, rows: set[int]) -> list[int]:
    return sorted(rows.union(row for (row,) in connection.execute("SELECT id FROM agents WHERE name = ''")))


def _kept(connection: sqlite3.Connection, purged: set[int]) -> _Kept:
    kept = _Kept({}, set(), set())
    for heir in _descendants(connection, purged) - purged:
        for owner, _, upto in lineage(connection, heir, NEWEST)[:-1]:
            if owner in purged:
                kept.bounds[owner] = max(upto, kept.bounds.get(owner, 0))
                kept.heirs.add(heir)
    for agent, seq, parent, owner, at in connection.execute(_CLONES):
        needed = agent not in purged or seq <= kept.bounds.get(agent, -1)
        if needed and owner in purged and not kept.has(parent, owner, at):
            # What is before an event that stays for another reason is kept for that reason.
            kept.single.update(_walk(connection, parent, purged, kept))
            if agent not in purged:
                kept.heirs.add(agent)
    return kept


def _walk(connection: sqlite3.Connection, event: int | None, purged: set[int], kept: _Kept) -> Iterator[int]:
    while event is not None:
        found, owner, seq, event = connection.execute(_PARENT, (event,)).fetchone()
        if owner not in purged or kept.has(found, owner, seq):
            return
        yield found


def _descendants(connection: sqlite3.Connection, rows: set[int]) -> set[int]:
    found, waiting = set(rows), list(rows)
    while waiting:
        query = "SELECT id FROM agents WHERE source = ?"
        later = {clone for (clone,) in connection.execute(query, (waiting.pop(),))} - found
        found |= later
        waiting += later
    return found


def _events(connection: sqlite3.Connection, agent: int, after: int) -> tuple[list[tuple[int, int]], int | None]:
    query = "SELECT id, seq FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?"
    rows: list[tuple[int, int]] = connection.execute(query, (agent, after, _PAGE)).fetchall()
    return rows, rows[-1][1] if len(rows) == _PAGE else None
