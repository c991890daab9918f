"""What a search answers: pages of hits, in each of its orders.

A search reads a volume, or a stretch of one, at a time, so that one connection serves many (:mod:`reeld.search.turns`).
One that takes long returns what it has found so far.
"""

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from reel.base.light_typing import NamedTuple
from reeld.search import finding, planning, ranking, turns, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look, OneSearch, Paths, RankedHits
from reeld.search.lengths import Known
from reeld.search.planning import Plan
from reeld.search.ranking import Asked, Found
from reeld.search.scores import Freshness, Ranked
from reeld.search.snippets import wanted_of
from reeld.search.turns import Steps
from reeld.search.volumes import Place, Volume

# Seconds after which a page is returned with the hits so far; the next page continues.
_PATIENCE = 0.8
# How many of the best hits there are.
MOST_RANKED = 1000


class Searched(turns.Readable, Protocol):
    """An index that can be searched."""

    indexed: int
    # The lengths that searches have read.
    known: Known

    @property
    def behind(self) -> int:
        """The number of events that are not in the index yet."""


class HitPage(NamedTuple):
    """A page of hits, the start of the next one, and how many events were not in the index when the search began.

    ``instead`` has what was searched for instead of words that no event has. ``is_partial`` says that the best hits are
    those of a part of the events only.
    """

    hits: list[dict[str, Any]]
    next: str | None
    behind: int
    instead: Mapping[str, list[str]] = MappingProxyType({})
    is_partial: bool = False


class Start(NamedTuple):
    """Where a page of the best hits begins: below an event, after so many hits, and with what counts as fresh.

    So a page is ranked as the one before was, though something was said meanwhile.
    """

    top: int | None
    offset: int
    fresh: Freshness | None

    def following(self, top: int, offset: int) -> str:
        """Return where the next page begins, as clients receive it."""
        return f"{top}.{offset}" + ("" if self.fresh is None else f".{self.fresh.now}")


class _Ranking(NamedTuple):
    """Ranked events, the best first, and whether they are those of a part of the events only."""

    events: list[Ranked]
    is_partial: bool


class HitPages:
    """The pages of hits of an index.

    Args:
        index: the index.
    """

    def __init__(self, index: Searched) -> None:
        self._index = index

    async def tagged(self, tags: Sequence[tuple[str, str | None]]) -> set[int]:
        """Return the rows of the agents that have all the given tags."""
        return await self._index.read(lambda connection: finding.tagged(connection, tags))

    async def begun_in(self, directories: Sequence[str]) -> set[int]:
        """Return the rows of the agents that were begun in one of these directories, or below one."""
        return await self._index.read(lambda connection: finding.begun_in(connection, directories))

    async def newest(self, wanted: Criteria, limit: int, below: int | None, look: Look) -> HitPage:
        """Return a page of hits in the order of the log, the newest first.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            below: only events with a smaller id.
            look: how they are shown; what is marked comes from the criteria.
        """
        return await turns.take(self._newest(wanted, limit, below, look), self._index)

    def _newest(self, wanted: Criteria, limit: int, below: int | None, look: Look) -> Steps[HitPage]:
        behind = self._index.behind
        events, reached = yield from _find(wanted, limit, below, self._index.indexed)
        hits, _ = yield from _show(_of(wanted, look), events)
        return HitPage(hits, str(reached) if reached else None, behind)

    async def latest(self, wanted: Criteria, limit: int, before: Place, look: Look) -> HitPage:
        """Return a page of hits in the order in which they were said, the latest first.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            before: only events before this place.
            look: how they are shown; what is marked comes from the criteria.
        """
        return await turns.take(self._latest(wanted, limit, before, look), self._index)

    def _latest(self, wanted: Criteria, limit: int, before: Place, look: Look) -> Steps[HitPage]:
        behind = self._index.behind
        found, following = yield from _said_last(wanted, limit, before)
        hits, done = yield from _show(_of(wanted, look), [place.event for place in found])
        if done < len(found):
            following = found[done - 1]
        return HitPage(hits, following and f"{following.event}.{following.said}", behind)

    async def best(self, wanted: Criteria, limit: int, start: Start, look: Look) -> HitPage:
        """Return a page of the best hits.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            start: where the page begins.
            look: how they are shown; what is marked comes from the criteria.
        """
        return await turns.take(self._best(wanted, limit, start, look), self._index)

    def _best(self, wanted: Criteria, limit: int, start: Start, look: Look) -> Steps[HitPage]:
        behind, indexed, ends = self._index.behind, self._index.indexed, time.monotonic() + _PATIENCE
        top = indexed + 1 if start.top is None else start.top
        end = min(start.offset + limit, MOST_RANKED)
        # One more tells whether there are more. What is live is known only of those that are looked at.
        most = MOST_RANKED if wanted.live is not None else min(end + 1, MOST_RANKED)
        plan, best = yield from self._ranked(wanted, top, start.fresh, most, ends)
        if not best.events and not best.is_partial and plan.has_parts:
            plan, best = yield from self._ranked(wanted, top, start.fresh, most, ends, in_parts=True)
        if wanted.live is not None:
            best = yield from _live(wanted, best, end + 1, ends)
        ranked = best.events
        page = ranked[start.offset : end]
        found = RankedHits({each.event: each for each in page}, plan)
        look = look._replace(wanted=plan.wanted, live=wanted.live, ranked=found)
        hits, _ = yield from _show(look, [each.event for each in page])
        following = start.following(top, end) if end < len(ranked) else None
        # The known words are those of all agents, the hidden ones too.
        instead = {} if wanted.hidden else plan.instead
        return HitPage(hits, following, behind, instead, is_partial=best.is_partial)

    def _ranked(
        self, wanted: Criteria, below: int, fresh: Freshness | None, limit: int, ends: float, *, in_parts: bool = False
    ) -> Steps[tuple[Plan, _Ranking]]:
        """Return how the best events are found, and these, the best first."""
        connection = yield
        plan = planning.plan(connection, wanted.query, in_parts=in_parts)
        every = volumes.down_from(connection, 1 << 62)
        found, is_partial = list[Ranked](), False
        for number, part in enumerate(plan.parts):
            if number and time.monotonic() > ends:
                return plan, _Ranking(found, is_partial=True)
            part_about = part.about(wanted.about) if part.is_frequent else part
            asked = Asked(plan, part_about, wanted.condition, below, fresh, limit - len(found), self._index.known)
            some = yield from _best_of(every, asked, ends)
            found += some.events
            is_partial |= some.is_partial
            if len(found) == limit:
                break
        return plan, _Ranking(found, is_partial=is_partial)


def _find(wanted: Criteria, limit: int, below: int | None, newest: int) -> Steps[tuple[list[int], int]]:
    """Return events, and the id below which there may be more; 0 if there are no more."""
    ends, search = time.monotonic() + _PATIENCE, OneSearch(wanted)
    floor, high = finding.bounds((yield), wanted.since, wanted.until, newest)
    high = high if below is None else min(high, below)
    begun, events = high, list[int]()
    while high > floor and len(events) < limit and (time.monotonic() < ends or high == begun):
        part = finding.find((yield), search, floor, high, limit - len(events))
        events += part.events
        high = part.reached
    return events, high if high > floor else 0


def _said_last(wanted: Criteria, limit: int, before: Place) -> Steps[tuple[list[Place], Place | None]]:
    """Return the places of the latest events, and the one before which there may be more.

    Each volume is searched backwards, the one first in which there may be something later than in the others. So
    whatever time there is, what has been found later than where all of them have arrived is complete.
    """
    found: list[Place] = []
    ends, search = time.monotonic() + _PATIENCE, OneSearch(wanted)
    every = volumes.down_from((yield), 1 << 62)
    arrived = {volume: min(before, Place(volume.newest + 1, 0)) for volume in every}
    while arrived:
        volume = max(arrived, key=arrived.__getitem__)
        if len(found) == limit and arrived[volume] <= found[-1]:
            break
        part = finding.latest((yield), search, volume, arrived.pop(volume), limit)
        found = sorted({*found, *part.places}, reverse=True)[:limit]
        if part.reached is not None:
            arrived[volume] = part.reached
        if time.monotonic() > ends:
            break
    front = max(arrived.values(), default=None)
    complete = [place for place in found if front is None or place >= front]
    return complete, complete[-1] if len(complete) == limit else front


def _best_of(every: Sequence[Volume], asked: Asked, ends: float) -> Steps[_Ranking]:
    """Return the best events of a part, the best first, as far as there is time."""
    found, best = Found(planning.MOST_EVENTS), None
    while best is None:
        found, best = ranking.best_of((yield), every, asked, found, ends)
    return _Ranking(best, is_partial=found.room < 0 or found.volumes < len(every))


def _live(wanted: Criteria, ranked: _Ranking, limit: int, ends: float) -> Steps[_Ranking]:
    """Return those of ranked events that are in the current conversation, or that are not, as it is wanted."""
    paths, left, found = Paths(), list(ranked.events), list[Ranked]()
    has_looked = False
    while left and len(found) < limit and not (has_looked and time.monotonic() > ends):
        some, done = finding.live_of((yield), wanted, paths, left)
        found += some
        del left[:done]
        has_looked = True
    return _Ranking(found[:limit], is_partial=ranked.is_partial or (bool(left) and len(found) < limit))


def _show(look: Look, events: Sequence[int]) -> Steps[finding.Shown]:
    """Return the hits of events; of whole texts as many as there is room for."""
    hits: list[dict[str, Any]] = []
    paths, done, room = Paths(), 0, finding.ROOM
    while done < len(events) and room >= 0:
        some = finding.shown((yield), look, paths, events[done:], room)
        hits += some.hits
        done += some.done
        room -= sum(len(hit.get("text", "")) for hit in some.hits)
    return finding.Shown(hits, done)


def _of(wanted: Criteria, look: Look) -> Look:
    return look._replace(wanted=wanted_of(wanted.query.terms), live=wanted.live, patterns=wanted.patterns)
