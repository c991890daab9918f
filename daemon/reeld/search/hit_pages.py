"""What a search answers: pages of hits, in each of its orders.

A search reads a volume, or a stretch of one, at a time, so that one connection serves many. One that takes long returns
what it has found so far.
"""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from reel.base.light_typing import NamedTuple
from reeld.search import finding, planning, ranking, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look, Paths
from reeld.search.planning import Plan
from reeld.search.ranking import Asked, Found
from reeld.search.scores import Freshness, Ranked
from reeld.search.snippets import wanted_of
from reeld.search.volumes import Place, Volume
from reeld.store.connection_thread import Job, T

# Seconds after which a page is returned with the hits so far; the next page continues.
_PATIENCE = 0.8
# How many of the best hits there are.
MOST_RANKED = 1000


class Readable(Protocol):
    """An index that can be read."""

    indexed: int

    @property
    def behind(self) -> int:
        """The number of events that are not in the index yet."""

    async def read(self, job: Job[T]) -> T:
        """Run a job on a connection to the index."""


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

    def __init__(self, index: Readable) -> None:
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
        behind = self._index.behind
        events, reached = await self._find(wanted, limit, below)
        hits, _ = await self._show(_of(wanted, look), events)
        return HitPage(hits, str(reached) if reached else None, behind)

    async def latest(self, wanted: Criteria, limit: int, before: Place, look: Look) -> HitPage:
        """Return a page of hits in the order in which they were said, the latest first.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            before: only events before this place.
            look: how they are shown; what is marked comes from the criteria.
        """
        behind = self._index.behind
        found, following = await self._latest(wanted, limit, before)
        hits, done = await self._show(_of(wanted, look), [place.event for place in found])
        if done < len(found):
            following = found[done - 1]
        return HitPage(hits, following and f"{following.event}.{following.said}", behind)

    async def _latest(self, wanted: Criteria, limit: int, before: Place) -> tuple[list[Place], Place | None]:
        """Return the places of the latest events, and the one before which there may be more.

        Each volume is searched backwards, the one first in which there may be something later than in the others. So
        whatever time there is, what has been found later than where all of them have arrived is complete.
        """
        found: list[Place] = []
        ends, paths = time.monotonic() + _PATIENCE, Paths()
        arrived = {volume: min(before, Place(volume.newest + 1, 0)) for volume in await self._volumes()}
        while arrived:
            volume = max(arrived, key=arrived.__getitem__)
            if len(found) == limit and arrived[volume] <= found[-1]:
                break
            part = await self._index.read(
                partial(
                    finding.latest, wanted=wanted, paths=paths, volume=volume, before=arrived.pop(volume), limit=limit
                )
            )
            found = sorted({*found, *part.places}, reverse=True)[:limit]
            if part.reached is not None:
                arrived[volume] = part.reached
            if time.monotonic() > ends:
                break
        front = max(arrived.values(), default=None)
        complete = [place for place in found if front is None or place >= front]
        return complete, complete[-1] if len(complete) == limit else front

    async def best(self, wanted: Criteria, limit: int, start: Start, look: Look) -> HitPage:
        """Return a page of the best hits.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            start: where the page begins.
            look: how they are shown; what is marked comes from the criteria.
        """
        behind, ends = self._index.behind, time.monotonic() + _PATIENCE
        plan, every = await self._planned(wanted)
        top = self._index.indexed + 1 if start.top is None else start.top
        end = min(start.offset + limit, MOST_RANKED)
        # One more tells whether there are more. What is live is known only of those that are looked at.
        most = MOST_RANKED if wanted.live is not None else min(end + 1, MOST_RANKED)
        best = await self._ranked(plan, every, wanted, top, start.fresh, most, ends)
        if not best.events and not best.is_partial and plan.has_parts:
            plan, every = await self._planned(wanted, in_parts=True)
            best = await self._ranked(plan, every, wanted, top, start.fresh, most, ends)
        if wanted.live is not None:
            best = await self._live(wanted, best, end + 1, ends)
        ranked = best.events
        page = await self._with_common(plan, ranked[start.offset : end])
        scores = {each.event: each.score for each in page}
        look = look._replace(wanted=plan.wanted, live=wanted.live, scores=scores)
        hits, _ = await self._show(look, [each.event for each in page])
        lacking = {each.event: plan.lacking(each.found) for each in page}
        hits = [{**hit, **({"without": lacking[hit["id"]]} if lacking[hit["id"]] else {})} for hit in hits]
        following = start.following(top, end) if end < len(ranked) else None
        # The known words are those of all agents, the hidden ones too.
        instead = {} if wanted.hidden else plan.instead
        return HitPage(hits, following, behind, instead, is_partial=best.is_partial)

    async def _planned(self, wanted: Criteria, *, in_parts: bool = False) -> tuple[Plan, list[Volume]]:
        """Return how the best hits are found, and the volumes in which they are."""

        def planned(connection: sqlite3.Connection) -> tuple[Plan, list[Volume]]:
            return planning.plan(connection, wanted.query, in_parts=in_parts), volumes.down_from(connection, 1 << 62)

        return await self._index.read(planned)

    async def _ranked(
        self,
        plan: Plan,
        every: Sequence[Volume],
        wanted: Criteria,
        below: int,
        fresh: Freshness | None,
        limit: int,
        ends: float,
    ) -> "_Ranking":
        """Return the best events, the best first."""
        found, is_partial = list[Ranked](), False
        for number, part in enumerate(plan.parts):
            if number and time.monotonic() > ends:
                return _Ranking(found, is_partial=True)
            part_about = part.about(wanted.about) if part.is_frequent else part
            asked = Asked(plan, part_about, wanted.condition, below, fresh, limit - len(found))
            some = await self._best_of(every, asked, ends)
            found += some.events
            is_partial |= some.is_partial
            if len(found) == limit:
                break
        return _Ranking(found, is_partial=is_partial)

    async def _best_of(self, every: Sequence[Volume], asked: Asked, ends: float) -> "_Ranking":
        """Return the best events of a part, the best first, as far as there is time."""
        found, best = Found(planning.MOST_EVENTS), None
        while best is None:
            job = partial(ranking.best_of, every=every, asked=asked, newer=found, ends=ends)
            found, best = await self._index.read(job)
        return _Ranking(best, is_partial=found.room < 0 or found.volumes < len(every))

    async def _live(self, wanted: Criteria, ranked: "_Ranking", limit: int, ends: float) -> "_Ranking":
        """Return those of ranked events that are in the current conversation, or that are not, as it is wanted."""
        paths, left, found = Paths(), list(ranked.events), list[Ranked]()
        has_looked = False
        while left and len(found) < limit and not (has_looked and time.monotonic() > ends):
            some, done = await self._index.read(partial(finding.live_of, wanted=wanted, paths=paths, ranked=left))
            found += some
            del left[:done]
            has_looked = True
        return _Ranking(found[:limit], is_partial=ranked.is_partial or (bool(left) and len(found) < limit))

    async def _with_common(self, plan: Plan, page: list[Ranked]) -> list[Ranked]:
        """Return ranked events with bits also for what is common."""
        done = list[Ranked]() if plan.common else page
        while len(done) < len(page):
            done += await self._index.read(partial(ranking.with_common, wanted=plan, ranked=page[len(done) :]))
        return done

    async def _volumes(self) -> list[Volume]:
        return await self._index.read(partial(volumes.down_from, below=1 << 62))

    async def _find(self, wanted: Criteria, limit: int, below: int | None) -> tuple[list[int], int]:
        """Return events, and the id below which there may be more; 0 if there are no more."""
        limits = partial(finding.bounds, since=wanted.since, until=wanted.until, newest=self._index.indexed)
        floor, high = await self._index.read(limits)
        high = high if below is None else min(high, below)
        ends, begun, paths = time.monotonic() + _PATIENCE, high, Paths()
        events: list[int] = []
        while high > floor and len(events) < limit and (time.monotonic() < ends or high == begun):
            part = await self._index.read(
                partial(finding.find, wanted=wanted, paths=paths, low=floor, high=high, limit=limit - len(events))
            )
            events += part.events
            high = part.reached
        return events, high if high > floor else 0

    async def _show(self, look: Look, events: Sequence[int]) -> finding.Shown:
        """Return the hits of events; of whole texts as many as there is room for."""
        hits: list[dict[str, Any]] = []
        paths, done, room = Paths(), 0, finding.ROOM
        while done < len(events) and room >= 0:
            job = partial(finding.shown, look=look, paths=paths, events=events[done:], room=room)
            some = await self._index.read(job)
            hits += some.hits
            done += some.done
            room -= sum(len(hit.get("text", "")) for hit in some.hits)
        return finding.Shown(hits, done)


def _of(wanted: Criteria, look: Look) -> Look:
    return look._replace(wanted=wanted_of(wanted.query.terms), live=wanted.live, patterns=wanted.patterns)
