"""Determines which events of purged agents are removed, and which stay because another agent's past needs them.

An agent that was cloned from a purged one may restore any state up to the position at which it was cloned. So it needs
all events up to there. An agent that took over a state with ``clone`` into it needs the events of that state alone.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from reel.base.light_typing import NamedTuple
from reeld.store.connection import Connection, Texts
from reeld.store.erasures import Change, Changes, Decision, OwnKey
from reeld.store.history import lineage
from reeld.store.plans import Plan
from reeld.store.queries import clones
from reeld.store.spans import NEWEST

# Events that are read at a time.
_PAGE = 5000
_CLONES = """
    SELECT c.agent, c.seq, p.id, p.agent FROM events c JOIN events p ON p.id = c.parent
    WHERE c.kind = 'clone' AND c.parent IS NOT NULL
"""
_PARENT = "SELECT agent, parent FROM events WHERE id = ?"


class Purge(NamedTuple):
    """The plan of a purge: what is removed, and what stays.

    Args:
        agents: the rows of the agents to remove, including those that were purged before and have events left.
        events: the ids of the events to remove, ascending.
        kept: how many events of the purged agents stay.
        heirs: the rows of the agents that need these.
    """

    agents: list[int]
    events: Sequence[int]
    kept: int
    heirs: set[int]

    @property
    def changes(self) -> Changes[int]:
        """The removals."""
        return Changes(self.events, partial(Change, is_gone=True))

    def decision(self, erasure: int = 0, key: OwnKey | None = None) -> Decision:
        """Return what decides the erasure with a number."""
        return Decision(erasure, len(self.events), purged=self.agents, key=key)


class _Kept(NamedTuple):
    """The events of purged agents that stay: up to a seq, and single ones; and the agents that need them."""

    bounds: dict[int, int]
    single: set[int]
    heirs: set[int]

    def has(self, event: int, owner: int, seq: int) -> bool:
        return seq <= self.bounds.get(owner, -1) or event in self.single


class Counted(NamedTuple):
    """How many events a purge removes, how many of the purged agents stay, and the rows of those who need these."""

    events: int
    kept: int
    heirs: set[int]


def plan_purge(rows: set[int]) -> Plan[Purge]:
    """Plan the purge of some agents.

    Args:
        rows: the agents.
    """
    agents: list[int] = yield partial(_with_remnants, rows=rows)
    gone = array("q")  # there may be a million, and the garbage collector would look at each in a list
    counted = yield from _count(agents, rows, gone.extend)
    # Those of one agent ascend, and to sort a million holds up all threads.
    return Purge(agents, gone if len(agents) == 1 else array("q", sorted(gone)), counted.kept, counted.heirs)


def count_purge(rows: set[int]) -> Plan[Counted]:
    """Count what a purge of some agents removes, however much it is."""
    agents: list[int] = yield partial(_with_remnants, rows=rows)
    return (yield from _count(agents, rows, lambda _: None))


def _count(agents: list[int], rows: set[int], take: Callable[[list[int]], None]) -> Plan[Counted]:
    kept: _Kept = yield partial(_kept, purged=set(agents), now=rows)
    gone = stay = 0
    for agent in agents:
        after: int | None = 0
        while after is not None:
            events, after = yield partial(_events, agent=agent, after=after)
            going = [event for event, seq in events if not kept.has(event, agent, seq)]
            take(going)
            gone += len(going)
            stay += len(events) - len(going) if agent in rows else 0
    return Counted(gone, stay, kept.heirs)


def purged_with(connection: Connection, rows: Iterable[int], *, living: bool) -> set[int]:
    """Return some agents, and the clones that go with them, recursively: all, or only those that were killed."""
    going = set(rows)
    for clone in clones(connection, rows):
        if clone.source in going and not clone.is_purged and (living or not clone.is_alive):
            going.add(clone.row)
    return going


def plan_purge_elsewhere(uids: Sequence[str], *, cascade: bool, force: bool) -> Plan[Purge]:
    """Plan the purge of agents in a backup, which may not have them, or have other clones of them.

    Args:
        uids: the ids of the agents.
        cascade: whether clones that are killed there go as well, recursively.
        force: whether all clones go.
    """
    rows = yield partial(_going, uids=Texts(uids), cascade=cascade, force=force)
    return (yield from plan_purge(rows)) if rows else Purge([], [], 0, set())


def _going(connection: Connection, uids: Texts, *, cascade: bool, force: bool) -> set[int]:
    query = "SELECT id, name FROM agents WHERE uid IN (SELECT value FROM json_each(?))"
    named = dict(connection.execute(query, (uids,)).fetchall())
    going = purged_with(connection, named, living=force) if cascade or force else {*named}
    return {row for row in going if named.get(row) != ""}


def those_purged(connection: Connection, uids: Texts) -> list[str]:
    """Return which of the agents with these ids were purged."""
    query = (
        "SELECT uid FROM agents WHERE name = '' AND uid IN (SELECT value FROM json_each(:uids))"
        " UNION SELECT uid FROM purged_agents WHERE uid IN (SELECT value FROM json_each(:uids)) ORDER BY uid"
    )
    return [uid for (uid,) in connection.execute(query, {"uids": uids}).fetchall()]


def was_purged(connection: Connection, uid: str) -> bool:
    """Return whether the agent with an id was purged."""
    query = "SELECT name FROM agents WHERE uid = :uid UNION ALL SELECT '' FROM purged_agents WHERE uid = :uid"
    found = connection.execute(query, {"uid": uid}).fetchone()
    return found is not None and found[0] == ""


def _with_remnants(connection: Connection, rows: set[int]) -> list[int]:
    return sorted(rows.union(row for (row,) in connection.execute("SELECT id FROM agents WHERE name = ''")))


def _kept(connection: Connection, purged: set[int], now: set[int]) -> _Kept:
    kept = _Kept({}, set(), set())
    # The agents that inherit from a purged agent, and up to which seq.
    claims: dict[int, list[tuple[int, int]]] = {}
    for heir in {clone.row for clone in clones(connection, purged)} - purged:
        for owner, _, upto in lineage(connection, heir, NEWEST)[:-1]:
            if owner in purged and _has_events(connection, owner, upto):
                kept.bounds[owner] = max(upto, kept.bounds.get(owner, 0))
                claims.setdefault(owner, []).append((heir, upto))
                if owner in now:
                    kept.heirs.add(heir)
    # Whether a path has an event of an agent that is purged now, by the last event of the path.
    paths: dict[int, bool] = {}
    for agent, seq, parent, owner in connection.execute(_CLONES):
        needed = agent not in purged or seq <= kept.bounds.get(agent, -1)
        if needed and owner in purged:
            kept.single.update(_walk(connection, parent, purged, now, paths))
            if paths[parent]:
                takers = [heir for heir, upto in claims.get(agent, ()) if seq <= upto]
                kept.heirs.update(takers if agent in purged else [agent])
    return kept


def _has_events(connection: Connection, owner: int, upto: int) -> bool:
    query = "SELECT 1 FROM events WHERE agent = ? AND seq <= ? LIMIT 1"
    return connection.execute(query, (owner, upto)).fetchone() is not None


def _walk(
    connection: Connection, event: int | None, purged: set[int], now: set[int], paths: dict[int, bool]
) -> list[int]:
    """Return the events of purged agents on a path, back to where it joins an earlier path, and record the path."""
    walked: list[tuple[int, bool]] = []
    while event is not None and event not in paths:
        owner, parent = connection.execute(_PARENT, (event,)).fetchone()
        if owner not in purged:
            break
        walked.append((event, owner in now))
        event = parent
    has_some = event is not None and paths.get(event, False)
    for passed, is_now in reversed(walked):
        has_some = has_some or is_now
        paths[passed] = has_some
    return [passed for passed, _ in walked]


def _events(connection: Connection, agent: int, after: int) -> tuple[list[tuple[int, int]], int | None]:
    query = "SELECT id, seq FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?"
    rows: list[tuple[int, int]] = connection.execute(query, (agent, after, _PAGE)).fetchall()
    return rows, rows[-1][1] if len(rows) == _PAGE else None
