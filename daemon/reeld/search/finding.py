"""Jobs of a reading connection: which events match, what is shown of each, and what is in a conversation now."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from reel.kinds import ROLES, STATE
from reeld.search.query import Term
from reeld.search.snippets import score, snippet
from reeld.search.texts import text_of

# Seconds after which a part of a search lets others take their turn.
_SECONDS = 0.03
# Steps of SQLite between two looks at whether anybody still waits.
STEPS = 10_000
# Jumps that are followed back; more are a damaged log.
_JUMPS = 100_000
# The clock may have been set back: how far times may be out of order, in milliseconds, for a filter to find all.
_DISORDER = 86_400_000

_MATCHES = "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC"
_PLACE = "SELECT agent, seq, kind, time FROM log.events WHERE id = ?"
_HIT = """
    SELECT e.id, e.agent, e.seq, e.kind, e.time, e.content, e.data_json, a.uid, a.name, a.title
    FROM log.events e JOIN log.agents a ON a.id = e.agent WHERE e.id = ?
"""
_JUMP = "SELECT seq, parent FROM jumps WHERE agent = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
_TAGGED = """
    SELECT id FROM log.agents a
    WHERE EXISTS (SELECT 1 FROM json_each(a.tags) WHERE key = :key AND (:value IS NULL OR value = :value))
"""
_AFTER_TIME = "SELECT id, time FROM log.events WHERE id >= ? ORDER BY id LIMIT 1"


class Wanted(NamedTuple):
    """What is searched for.

    Args:
        match: an expression of FTS5.
        terms: what of it is marked in a snippet.
        agents: the rows of the agents that are looked at; ``None`` for all.
        live: whether only what is in a current conversation is looked at, or only what is not.
        since: the first time.
        until: the time after the last one.
    """

    match: str
    terms: Sequence[Term]
    agents: frozenset[int] | None = None
    live: bool | None = None
    since: int | None = None
    until: int | None = None

    @property
    def looks_closer(self) -> bool:
        """Whether more than the words decides."""
        return any(limit is not None for limit in (self.agents, self.live, self.since, self.until))


class Part(NamedTuple):
    """The events that were found in a part of the index, newest first, and the id down to which it was searched."""

    events: list[int]
    reached: int


def find(connection: sqlite3.Connection, wanted: Wanted, low: int, high: int, limit: int) -> Part:
    """Return the newest events that match and whose ids are from ``low`` up to ``high``, which is excluded."""
    ends, events, paths = time.monotonic() + _SECONDS, [], Paths(connection)
    for number, (event_id,) in enumerate(connection.execute(_MATCHES, (wanted.match, low, high)), 1):
        if not wanted.looks_closer or _is_wanted(connection, wanted, event_id, paths):
            events.append(event_id)
        if len(events) == limit or (not number % 64 and time.monotonic() > ends):
            return Part(events, event_id)
    return Part(events, low)


def _is_wanted(connection: sqlite3.Connection, wanted: Wanted, event_id: int, paths: "Paths") -> bool:
    found = connection.execute(_PLACE, (event_id,)).fetchone()
    if found is None:
        return False
    agent, seq, kind, when = found
    return (
        (wanted.agents is None or agent in wanted.agents)
        and (wanted.since is None or when >= wanted.since)
        and (wanted.until is None or when < wanted.until)
        and (wanted.live is None or paths.has(agent, seq, kind) == wanted.live)
    )


def shown(connection: sqlite3.Connection, wanted: Wanted, events: Sequence[int]) -> list[dict[str, Any]]:
    """Return hits as they are told."""
    paths, hits = Paths(connection), []
    for event_id in events:
        row = connection.execute(_HIT, (event_id,)).fetchone()
        if row is None:
            continue
        _, agent, seq, kind, when, content, data_json, uid, name, title = row
        text = text_of(kind, content, data_json)
        found = snippet(text, wanted.terms)
        hits.append(
            {
                "id": event_id,
                "agent": uid,
                "name": name,
                "title": title,
                "seq": seq,
                "role": "system" if kind == "system" else ROLES.get(kind),
                "kind": kind,
                "time": when,
                "live": paths.has(agent, seq, kind),
                "snippet": found.text,
                "matches": [list(match) for match in found.matches],
                "score": score(text, wanted.terms),
            }
        )
    return hits


def scores(connection: sqlite3.Connection, wanted: Wanted, events: Sequence[int]) -> dict[int, float]:
    """Return how well events answer, as many as there is time for."""
    ends, found = time.monotonic() + _SECONDS, {}
    for event_id in events:
        row = connection.execute(_HIT, (event_id,)).fetchone()
        found[event_id] = 0.0 if row is None else score(text_of(row[3], row[5], row[6]), wanted.terms)
        if time.monotonic() > ends:
            break
    return found


def tagged(connection: sqlite3.Connection, tags: Sequence[tuple[str, str | None]]) -> set[int]:
    """Return the rows of the agents that have all of some tags; one without a value may have any."""
    found = [{row for (row,) in connection.execute(_TAGGED, {"key": key, "value": value})} for key, value in tags]
    return set.intersection(*found)


def bounds(connection: sqlite3.Connection, since: int | None, until: int | None, newest: int) -> tuple[int, int]:
    """Return the ids between which the events of some time are, the second excluded.

    Ids ascend with time, unless the clock was set back.
    """
    low = 0 if since is None else _first_at(connection, since - _DISORDER, newest)
    return low, newest + 1 if until is None else _first_at(connection, until + _DISORDER, newest)


def _first_at(connection: sqlite3.Connection, when: int, newest: int) -> int:
    low, high = 0, newest + 1
    while low < high:
        middle = (low + high) // 2
        found = connection.execute(_AFTER_TIME, (middle,)).fetchone()
        if found is None or found[1] >= when:
            high = middle
        else:
            low = max(middle, found[0]) + 1
    return low


class Paths:
    """Which events are in the current conversation of their agent.

    Between two jumps a conversation only grows. So it consists of a few intervals of seqs: from the last jump to the
    end, then from where that jump went back to the jump before that place, and so on.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._intervals: dict[int, list[tuple[int, int]]] = {}

    def has(self, agent: int, seq: int, kind: str) -> bool:
        """Return whether an event is in the conversation; the name and the title of an agent always are."""
        if kind in STATE:
            return True
        if agent not in self._intervals:
            self._intervals[agent] = self._path(agent)
        return any(first < seq <= last for first, last in self._intervals[agent])

    def _path(self, agent: int) -> list[tuple[int, int]]:
        """Return the intervals of an agent's own seqs, each after its first and up to its last number."""
        intervals: list[tuple[int, int]] = []
        owner, last = agent, (1 << 63) - 1
        for _ in range(_JUMPS):
            jump, parent = self._connection.execute(_JUMP, (owner, last)).fetchone() or (0, None)
            if owner == agent:
                intervals.append((jump, last))
            place = self._connection.execute("SELECT agent, seq FROM log.events WHERE id = ?", (parent,)).fetchone()
            if place is None:
                break
            owner, last = place
        return intervals
