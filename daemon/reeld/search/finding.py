"""Jobs of a reading connection: finding matching events, showing hits, and deciding what is in a conversation now."""

import json
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.said.kinds import ROLES, STATE
from reeld.search import volumes
from reeld.search.attached_log import log_of
from reeld.search.candidates import Candidates
from reeld.search.criteria import Criteria
from reeld.search.likely_texts import AT_ONCE, likely_texts
from reeld.search.marks import are_all, marks
from reeld.search.patterns import Pattern, having
from reeld.search.planning import Plan, to_match
from reeld.search.scores import Ranked
from reeld.search.snippets import SIZE, Wanted, score, snippet
from reeld.search.texts import text_of
from reeld.search.volumes import Place, Volume
from reeld.store.connection import Texts
from reeld.store.directories import Directories
from reeld.store.spans import NEWEST, Span, Walk

# Seconds after which one part of a search yields to other jobs.
_SECONDS = 0.03
# The clock may have been set back: how many milliseconds out of order times may be without a filter missing events. A
# day, because clocks are set back by seconds or, after a wrong time zone, by hours; and to look through the ids of one
# more day costs little.
_DISORDER = 86_400_000

# Events that are looked up at once in the order of the log, more if a pattern tells them apart; and those in the order
# in which they were said: each time, a volume is sorted, which takes 10 ms.
_LOOKED_UP, _TOLD_APART, _LOOKED_AT = 64, 1024, 2048

# The characters of whole texts after which no more hits are shown.
ROOM = 1 << 20

_PLACE = "SELECT agent, seq, kind FROM log.events WHERE id = ?"
_HIT = """
    SELECT e.id, e.agent, e.seq, e.kind, e.time, e.content, e.data_json, a.uid, a.name, a.title, e.sent
    FROM log.events e JOIN log.agents a ON a.id = e.agent
    WHERE e.id = ? AND a.name <> ''
"""
# Comparing with the stored text is an optimization: reading the tags of 100,000 agents takes 300 ms.
_TAGGED = "SELECT id, tags FROM log.agents WHERE instr(tags, ?) > 0"
_BEGUN_IN = "SELECT id, tags FROM log.agents WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE instr(tags, value) > 0)"
_SENT_BEFORE = "SELECT 1 FROM log.events WHERE sent < ? LIMIT 1"
_AFTER_TIME = "SELECT id, time FROM log.events WHERE id >= ? ORDER BY id LIMIT 1"


class Searched(NamedTuple):
    """The events found in a part of the index, newest first, and the id down to which it was searched."""

    events: list[int]
    reached: int


class OutOfTime(Exception):
    """Raised when a job must yield to others; it continues later."""


class OneSearch:
    """A search, with what its parts need again.

    Args:
        wanted: the criteria.
    """

    def __init__(self, wanted: Criteria) -> None:
        self.wanted = wanted
        self.paths = Paths()
        self._candidates = Candidates(wanted.needed, wanted.in_names)

    def wanted_of(self, connection: sqlite3.Connection, volume: Volume) -> volumes.Wanted:
        """Return which events of a volume may match."""
        some = self._candidates.of(connection, volume)
        return volumes.Wanted(self.wanted.match, self.wanted.condition, some)


def find(connection: sqlite3.Connection, search: OneSearch, low: int, high: int, limit: int) -> Searched:
    """Return the newest events that match with ids from ``low`` up to ``high``, excluded."""
    events: list[int] = []
    ends = time.monotonic() + _SECONDS
    at_once = _TOLD_APART if search.wanted.patterns else _LOOKED_UP
    for volume in volumes.down_from(connection, high):
        first = max(low, volume.first)
        rows = volumes.matches(connection, volume, search.wanted_of(connection, volume), first, high)
        while some := list(islice(rows, at_once)):
            kept, done = checked(connection, search.wanted, search.paths, some, ends)
            events += kept[: limit - len(events)]
            if len(events) == limit:
                return Searched(events, events[-1])
            if done < len(some) or time.monotonic() > ends:
                return Searched(events, some[done - 1] if done else some[0] + 1)
        if first == low or time.monotonic() > ends:
            return Searched(events, first)
    return Searched(events, low)


def checked(
    connection: sqlite3.Connection, wanted: Criteria, paths: "Paths", events: Sequence[int], ends: float
) -> tuple[list[int], int]:
    """Return those of events that match also in what the index does not say, and how many there was time for."""
    if not wanted.is_checked:
        return list(events), len(events)
    kept: list[int] = []
    for begin in range(0, len(events), AT_ONCE):
        some = events[begin : begin + AT_ONCE]
        for together in likely_texts(connection, wanted, some):
            for event in having(wanted.patterns, together):
                try:
                    if _is_wanted(connection, wanted, event, paths, ends):
                        kept.append(event)
                except OutOfTime:
                    return kept, events.index(event)
            if time.monotonic() > ends:
                return kept, events.index(together[-1][0]) + 1
        if time.monotonic() > ends:
            return kept, begin + len(some)
    return kept, len(events)


def _is_wanted(connection: sqlite3.Connection, wanted: Criteria, event_id: int, paths: "Paths", ends: float) -> bool:
    """Return whether an event is live, or not, if that matters.

    Raises:
        OutOfTime: time ran out before it was known; the next call continues.
    """
    if wanted.live is None:
        return True
    found = log_of(connection).execute(_PLACE, (event_id,)).fetchone()
    if found is None:
        return False
    agent, seq, kind = found
    return paths.has(connection, agent, seq, kind, ends) == wanted.live


class Part(NamedTuple):
    """What was found in a part of a volume, the latest first, and how far that reaches; ``None`` if to its end."""

    places: list[Place]
    reached: Place | None


def latest(connection: sqlite3.Connection, search: OneSearch, volume: Volume, before: Place, limit: int) -> Part:
    """Return some of the events of a volume that match and were said last before a place."""
    wanted, paths = search.wanted, search.paths
    most = max(2 * limit, _LOOKED_AT) if wanted.is_checked else limit
    some = volumes.latest(connection, volume, search.wanted_of(connection, volume), before, most)
    kept, done = checked(connection, wanted, paths, [place.event for place in some], ends=time.monotonic() + _SECONDS)
    if done < len(some):
        reached: Place | None = some[done - 1] if done else before
    else:
        reached = some[-1] if len(some) == most else None
    are_kept = set(kept)
    return Part([place for place in some if place.event in are_kept], reached)


def live_of(
    connection: sqlite3.Connection, wanted: Criteria, paths: "Paths", ranked: Sequence[Ranked]
) -> tuple[list[Ranked], int]:
    """Return those of ranked events that are live or not, as it is wanted, and how many there was time for."""
    events = [each.event for each in ranked]
    kept, done = checked(connection, wanted, paths, events, ends=time.monotonic() + _SECONDS)
    are_kept = set(kept)
    return [each for each in ranked if each.event in are_kept], done


class RankedHits(NamedTuple):
    """Ranked hits by their events, and how they were found."""

    hits: Mapping[int, Ranked]
    plan: Plan


class Look(NamedTuple):
    """How hits are shown.

    Args:
        wanted: what is marked.
        size: how many characters a snippet has at most.
        live: which hits are shown; ``None`` for all.
        thinking: whether a snippet may be what a model thought.
        ranked: the hits, if they are ranked.
        patterns: what else is marked.
        whole: whether hits have their whole text.
    """

    wanted: Sequence[Wanted] = ()
    size: int = SIZE
    live: bool | None = None
    thinking: bool = True
    ranked: RankedHits | None = None
    patterns: Sequence[Pattern] = ()
    whole: bool = False


class Shown(NamedTuple):
    """Hits as clients receive them, and how many of the events they cover."""

    hits: list[dict[str, Any]]
    done: int


def shown(connection: sqlite3.Connection, look: Look, paths: "Paths", events: Sequence[int], room: int = ROOM) -> Shown:
    """Return hits as clients receive them, as many as there is time for; whole texts until they exceed the room.

    Liveness is determined now. Hits whose liveness has changed in the meantime, and no longer matches, are left out.
    """
    hits: list[dict[str, Any]] = []
    ends = time.monotonic() + _SECONDS
    for done, event_id in enumerate(events):
        row = log_of(connection).execute(_HIT, (event_id,)).fetchone()
        if row is None:
            continue
        _, agent, seq, kind, when, content, data_json, uid, name, title, sent = row
        try:
            live = paths.has(connection, agent, seq, kind, ends)
        except OutOfTime:
            return Shown(hits, done)
        if look.live not in (None, live):
            continue
        text = text_of(kind, content, data_json)
        said = text if look.thinking else text_of(kind, content, data_json, thinking=False)
        found = snippet(said, look.wanted, look.size, [pattern.marked(said) for pattern in look.patterns])
        has = found.has if text == said else _marked_in(text, look)
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
                **({} if sent is None else {"sent": sent}),
                "live": live,
                **({} if has <= found.has else {"thinking": True}),
                **({"text": said} if look.whole else {}),
                "snippet": found.text,
                "matches": [list(match) for match in found.matches],
                **(
                    _rank(connection, look.ranked, event_id, text, has)
                    if look.ranked
                    else {"score": score(text, look.wanted)}
                ),
            }
        )
        room -= len(said) if look.whole else 0
        if room < 0 or time.monotonic() > ends:
            return Shown(hits, done + 1)
    return Shown(hits, len(events))


def _marked_in(text: str, look: Look) -> frozenset[int]:
    """Return the numbers of what is marked in a text, as :class:`~reeld.search.snippets.Snippet` has them."""
    patterns = enumerate(look.patterns, len(look.wanted))
    had = [number for number, pattern in patterns if pattern.marked(text)]
    return frozenset([*had, *(mark.of for mark in marks(text, [each.forms for each in look.wanted]))])


def _rank(
    connection: sqlite3.Connection, ranked: RankedHits, event: int, text: str, has: Collection[int]
) -> dict[str, Any]:
    """Return the score of a hit with a text, and what it lacks: what is common may be there, and not marked."""
    hit, plan = ranked.hits[event], ranked.plan
    if not are_all(text):
        common = enumerate(plan.common, len(plan.ranking))
        has = {
            number
            for number, each in common
            if number in has or volumes.is_match(connection, event, to_match(each.forms))
        }
    lacking = plan.lacking(hit.found, has)
    return {"score": hit.score, **({"without": lacking} if lacking else {})}


def tagged(connection: sqlite3.Connection, tags: Sequence[tuple[str, str | None]]) -> set[int]:
    """Return the rows of the agents that have all the given tags; a tag without a value matches any value."""
    found: list[set[int]] = []
    for key, value in tags:
        stored = f"{_as_json(key)}: {'' if value is None else _as_json(value)}"
        rows = log_of(connection).execute(_TAGGED, (stored,)).fetchall()
        found.append({row for row, text in rows if _has(json.loads(text), key, value)})
    return set.intersection(*found)


def begun_in(connection: sqlite3.Connection, directories: Sequence[str]) -> set[int]:
    """Return the rows of the agents that were begun in one of these directories, or below one."""
    wanted = Directories(directories)
    rows = log_of(connection).execute(_BEGUN_IN, (Texts(wanted.stored),)).fetchall()
    return {row for row, text in rows if wanted.have(json.loads(text))}


def _has(tags: dict[str, str], key: str, value: str | None) -> bool:
    return key in tags and value in (None, tags[key])


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def bounds(connection: sqlite3.Connection, since: int | None, until: int | None, newest: int) -> tuple[int, int]:
    """Return the range of ids of the events in a time range, the upper bound excluded.

    Ids ascend with time, unless the clock was set back. An event with an earlier original time may have any id.
    """
    low = 0 if since is None else _first_at(connection, since - _DISORDER, newest)
    if until is None or log_of(connection).execute(_SENT_BEFORE, (until,)).fetchone():
        return low, newest + 1
    return low, _first_at(connection, until + _DISORDER, newest)


def _first_at(connection: sqlite3.Connection, when: int, newest: int) -> int:
    low, high, log = 0, newest + 1, log_of(connection)
    while low < high:
        middle = (low + high) // 2
        found = log.execute(_AFTER_TIME, (middle,)).fetchone()
        if found is None or found[1] >= when:
            high = middle
        else:
            low = max(middle, found[0]) + 1
    return low


class Paths:
    """Determines which events are in the current conversation of their agent, as :mod:`reeld.store.spans` does.

    Each agent's conversation is walked back only as far as needed, once, and reflects the moment of the walk.
    """

    def __init__(self) -> None:
        self._walks: dict[int, tuple[Walk, list[Span]]] = {}

    def has(self, connection: sqlite3.Connection, agent: int, seq: int, kind: str, ends: float) -> bool:
        """Return whether an event is in the conversation; an agent's name and title always are.

        Raises:
            OutOfTime: time ran out before it was known; the next call continues.
        """
        if kind in STATE:
            return True
        if agent not in self._walks:
            self._walks[agent] = Walk([(agent, "", NEWEST)]), []
        walk, spans = self._walks[agent]
        while not walk.is_over and (not spans or spans[-1].after >= seq):
            if (span := walk.step(log_of(connection))) is not None:
                spans.append(span)
            if time.monotonic() > ends:
                raise OutOfTime
        # The newest come first, so the numbers that ascend are the negated ones.
        place = bisect_right(spans, -seq, key=lambda span: -span.upto) - 1
        return place >= 0 and spans[place].after < seq
