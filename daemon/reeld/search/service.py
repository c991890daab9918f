"""The index of a running daemon: one task indexes new commits, and searches read the index.

Commits and the index do not wait for each other: the index reads the log through its own connection, up to the newest
committed event. If its file is missing, damaged or outdated, it is rebuilt. If it cannot be used at all, everything
except search works.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import anyio

from reel.base.errors import Storage
from reel.daemon.address import state_directory
from reeld.search import finding, index, ranking, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look, Paths
from reeld.search.index import Outdated, Text
from reeld.search.ranking import Freshness, Plan, Ranked
from reeld.search.snippets import wanted_of
from reeld.search.volumes import Condition, Place, Volume
from reeld.store.connection_thread import ConnectionThread, Job, T
from reeld.store.presence import LOCK
from reeld.store.room import NoRoomError, require_room, size_of
from reeld.store.store import Store
from reeld.store.sweep import open_descriptor

log = logging.getLogger(__name__)

# Seconds from a commit to its batch: commits in between share the batch.
_DELAY = 0.2
# While others write, the index pauses for this many times the duration of a batch. It shares the interpreter and the
# processors with them: without a pause, 8 pipelining clients completed 8,700 to 12,600 adds a second, and 20,500 to
# 22,500 without an index.
_RESTS = 3
# Seconds until the log on a server that restarts is tried again.
_SERVER_RETRY = 2.0
# Seconds until an index that cannot be used is tried again.
_RETRY = 60.0
# Seconds for which an index must have worked to be rebuilt without a pause.
_CALM = 3600.0
# Two, so that a search does not wait for one that takes FTS5 long.
_READERS = 2
# Seconds after which a page is returned with the hits so far; the next page continues.
_PATIENCE = 1.0
# The room on its disk that is left to the log. And the share of the log's size that a new index needs at least: it had
# 11 per cent where every word was another one, with texts of 100 to 800 characters.
_ROOM = 16 << 20
_SHARE = 1 / 8
# How many of the best hits there are.
MOST_RANKED = 1000


class HitPage(NamedTuple):
    """A page of hits, the start of the next one, and how many events are not in the index yet.

    ``instead`` has what was searched for instead of words that no event has.
    """

    hits: list[dict[str, Any]]
    next: str | None
    behind: int
    instead: Mapping[str, list[str]] = MappingProxyType({})


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


class Pauses:
    """The pauses before rebuilding an index: none, unless rebuilds happen repeatedly."""

    def __init__(self) -> None:
        self._next = 0.0
        self._built = -_CALM

    def next(self, now: float) -> float:
        """Return how many seconds to wait; the pause doubles each time, until an index has worked for an hour."""
        if now - self._built >= _CALM:
            self._next = 0.0
        pause, self._next = self._next, min(max(2 * self._next, _RETRY), _CALM)
        self._built = now + pause
        return pause


class Search:
    """The index of a store; :meth:`run` fills it.

    Args:
        store: the log.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # How the index reads the log: its path, or a function that opens a connection to it.
        self._log = store.engine.open_log or store.path
        self.path = index.path_of(store.path) if store.is_file else index.path_for(state_directory(), store.engine.id)
        # The id of the newest event in the index.
        self.indexed = 0
        # Why there is no index, as a sentence.
        self.problem: str | None = None
        self._readers: list[ConnectionThread] = []
        self._opened = anyio.Event()
        self._news = store.writer.news
        self._is_damaged = False
        # Set when a batch is in the index, and replaced then; and set when somebody waits for the next one.
        self._filled = anyio.Event()
        self._hurry = anyio.Event()
        # Whether the file was removed for an erasure, so that the open file is no longer the index.
        self._is_removed = False
        self._pauses = Pauses()
        # The writing connection while the index is open, and the right to open the index, write to it or remove it.
        self._writer: ConnectionThread | None = None
        self._descriptor = -1
        self._turn = anyio.Lock()

    @property
    def behind(self) -> int:
        """The number of events that are not in the index yet."""
        return max(0, self._store.writer.newest - self.indexed)

    @property
    def size(self) -> int | None:
        """The size of the file in bytes; ``None`` if there is no file."""
        return size_of(self.path)

    async def run(self) -> None:
        """Fill the index until cancelled."""
        while True:
            try:
                if self._store.eraser.index_has_traces:
                    await self._forget_all()
                await self._follow()
            except Outdated as error:
                await self._build_again(str(error))
            except (index.LogError, NoRoomError) as error:
                self._fail(error.message)
                is_server = isinstance(error, index.LogError) and not self._store.is_file
                await anyio.sleep(_SERVER_RETRY if is_server else _RETRY)
            except MemoryError:
                self._fail("there is not enough memory to fill the search index")
                await anyio.sleep(_RETRY)
            except (OSError, sqlite3.Error, Storage) as error:
                if isinstance(error, sqlite3.Error) and index.is_damage(error):
                    await self._build_again(f"is damaged ({error})")
                else:
                    self._fail(f"{self.path} cannot be used: {error}")
                    await anyio.sleep(_RETRY)

    async def _build_again(self, reason: str) -> None:
        """Remove the index, so that it is rebuilt; first wait if it was built recently."""
        pause = self._pauses.next(time.monotonic())
        if pause:
            self._fail(
                f"{self.path} {reason} again soon after a rebuild; check the disk. The next rebuild waits {pause:.0f} s"
            )
            await anyio.sleep(pause)
        else:
            log.warning("the search index %s %s; it is built again", self.path, reason)
        try:
            index.remove(self.path)
        except OSError as error:
            self._fail(f"{self.path} cannot be removed: {error.strerror}")
            await anyio.sleep(_RETRY)

    async def _forget_all(self) -> None:
        """Remove an index that may contain what was being erased when the daemon was killed."""
        index.remove(self.path)
        await self._store.eraser.end()

    @asynccontextmanager
    async def without(self, events: Sequence[int], instead: Mapping[int, Text]) -> AsyncIterator[None]:
        """Remove events from the index; the block changes the log, while indexing is suspended.

        If that fails, the whole index is removed, and rebuilt from the changed log.

        Args:
            events: the ids of the removed events.
            instead: replacement texts of others, by their ids.
        """
        async with self._turn:
            replace = partial(index.replace, events=events, instead=instead, path=self.path)
            is_sound = await self._try(replace)
            try:
                yield
            except BaseException:
                is_sound = False
                raise
            finally:
                settle = partial(index.settle, path=self.path, descriptor=self._descriptor)
                if not (is_sound and await self._try(settle)):
                    self._remove()

    def _remove(self) -> None:
        try:
            index.remove(self.path)
            self._is_removed = True
        except OSError as error:
            self._fail(f"{self.path} has traces of what was erased, and cannot be removed: {error.strerror}")
            self._is_damaged = True
        self._news.set()

    async def begin_again(self) -> None:
        """Remove the index, which is built again: the log has changed."""
        async with self._turn:
            self._remove()

    async def _try(self, job: Job[None]) -> bool:
        """Run a job on the writing connection; return whether it succeeded."""
        if self._writer is None:
            return False
        try:
            await self._writer.run(job)
        except (OSError, sqlite3.Error, Storage) as error:
            log.warning("the search index %s is built again: %s", self.path, error)
            return False
        return True

    def _fail(self, problem: str) -> None:
        if problem != self.problem:
            log.error("searching does not work: %s", problem)
        self.problem = problem
        self._opened.set()

    async def _follow(self) -> None:
        """Open the index, and keep it up to date until it is removed or found damaged."""
        displaced = self._store.displaced
        if displaced is not None and displaced.kind != LOCK:
            raise Storage(str(displaced))
        async with AsyncExitStack() as stack:
            async with self._turn:  # an erasure might remove the file just now
                writer = await stack.enter_async_context(self._open())
            while True:
                async with self._turn:
                    if self._is_damaged:
                        raise Outdated("is damaged")
                    if self._is_removed:
                        return
                    began, commits, newest = time.monotonic(), self._store.writer.commits, self._store.writer.newest
                    filled = await writer.run(index.fill) if self._has_room() else None
                if filled is None:
                    with anyio.move_on_after(_RETRY):
                        await self._news.wait()
                    await anyio.sleep(_DELAY)
                    continue
                # The newest event may have been purged before it came into the index.
                self.indexed = filled.event if filled.more else max(filled.event, newest)
                self._filled.set()
                self._filled = anyio.Event()
                is_busy = self._store.writer.commits > commits
                pause = pause_after(time.monotonic() - began, is_busy=is_busy)
                if not filled.more:
                    await self._news.wait()
                    pause = max(pause, _DELAY)
                with anyio.move_on_after(pause):
                    await self._hurry.wait()
                self._hurry = anyio.Event()

    def _require_room_to_build(self) -> None:
        """Refuse to build an index for which there is no room; one that exists goes on growing."""
        if os.path.exists(self.path):
            return
        needed = int(os.path.getsize(self._store.path) * _SHARE) + _ROOM
        require_room(os.path.dirname(self.path), needed, f"no search index is built at {self.path}")

    def _has_room(self) -> bool:
        """Return whether the index may grow: it must not take the last room from the log."""
        try:
            require_room(os.path.dirname(self.path), _ROOM, "nothing new can be found")
        except NoRoomError as error:
            self._fail(error.message)
            return False
        self.problem = None
        return True

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[ConnectionThread]:
        async with AsyncExitStack() as stack:
            if not self._store.is_file:
                Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            else:
                self._require_room_to_build()
            setup = partial(index.prepare, database=self._log)
            self._is_damaged = self._is_removed = False
            self._descriptor = stack.enter_context(open_descriptor(self.path, os.O_CREAT | os.O_NOFOLLOW))
            writer = await stack.enter_async_context(self._open_index(setup, readonly=False))
            self.indexed = await writer.run(index.progress)
            setup = partial(index.prepare_reader, database=self._log)
            readers = [await stack.enter_async_context(self._open_index(setup, readonly=True)) for _ in range(_READERS)]
            self._readers, self.problem, self._writer = readers, None, writer
            self._opened.set()
            try:
                yield writer
            finally:
                self._readers, self._opened, self._writer = [], anyio.Event(), None

    @asynccontextmanager
    async def _open_index(self, setup: Job[None], *, readonly: bool) -> AsyncIterator[ConnectionThread]:
        """Open a connection to the index, and to a log on a server; close them when the block ends."""
        async with self._store.open_beside(self.path, setup, readonly=readonly) as database:
            try:
                yield database
            finally:
                with anyio.CancelScope(shield=True):
                    await database.run(index.close_log)

    async def _read(self, job: Job[T]) -> T:
        """Run a job on a reading connection; abort it if nobody waits for the result any more.

        Raises:
            Storage: the index cannot be read.
        """
        await self._opened.wait()
        if not self._readers:
            raise Storage(f"searching does not work: {self.problem}")
        abandoned = threading.Event()
        try:
            return await min(self._readers, key=lambda reader: reader.waiting).run(
                partial(_interruptible, job, abandoned.is_set)
            )
        except sqlite3.Error as error:
            if index.is_damage(error):
                self._is_damaged = True
                self._news.set()
                raise Storage("the search index is damaged, and built again; repeat the search later") from error
            raise Storage(f"the search index cannot be read: {error}") from error
        finally:
            abandoned.set()

    async def catch_up(self, seconds: float) -> None:
        """Wait until the index has everything that was committed before, for so long at most."""
        newest = self._store.writer.newest
        with anyio.move_on_after(seconds):
            while self.indexed < newest and self.problem is None:
                self._hurry.set()
                await self._filled.wait()

    async def tagged(self, tags: Sequence[tuple[str, str | None]]) -> set[int]:
        """Return the rows of the agents that have all the given tags."""
        return await self._read(lambda connection: finding.tagged(connection, tags))

    async def begun_in(self, directories: Sequence[str]) -> set[int]:
        """Return the rows of the agents that were begun in one of these directories, or below one."""
        return await self._read(lambda connection: finding.begun_in(connection, directories))

    async def newest(self, wanted: Criteria, limit: int, below: int | None, size: int) -> HitPage:
        """Return a page of hits in the order of the log, the newest first.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            below: only events with a smaller id.
            size: how many characters a snippet has at most.
        """
        events, reached = await self._find(wanted, limit, below)
        hits = await self._show(Look(wanted_of(wanted.query.terms), size, wanted.live), events)
        return HitPage(hits, str(reached) if reached else None, self.behind)

    async def latest(self, wanted: Criteria, limit: int, before: Place, size: int) -> HitPage:
        """Return a page of hits in the order in which they were said, the latest first.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            before: only events before this place.
            size: how many characters a snippet has at most.
        """
        found: list[Place] = []
        ends, paths = time.monotonic() + _PATIENCE, Paths()
        for volume in await self._volumes():
            if len(found) == limit and volume.newest < found[-1].said:
                continue
            part = partial(finding.latest, wanted=wanted, paths=paths, volume=volume, before=before, limit=limit)
            found = sorted({*found, *await self._read(part)}, reverse=True)[:limit]
            if time.monotonic() > ends:
                break
        look = Look(wanted_of(wanted.query.terms), size, wanted.live)
        hits = await self._show(look, [place.event for place in found])
        following = f"{found[-1].event}.{found[-1].said}" if len(found) == limit else None
        return HitPage(hits, following, self.behind)

    async def best(self, wanted: Criteria, limit: int, start: Start, size: int) -> HitPage:
        """Return a page of the best hits.

        Args:
            wanted: the criteria.
            limit: how many hits at most.
            start: where the page begins.
            size: how many characters a snippet has at most.
        """
        plan = await self._read(partial(ranking.plan, query=wanted.query))
        top = self.indexed + 1 if start.top is None else start.top
        end = min(start.offset + limit, MOST_RANKED)
        # One more tells whether there are more. What is live is known only of those that are looked at.
        most = MOST_RANKED if wanted.live is not None else min(end + 1, MOST_RANKED)
        ranked = await self._ranked(plan, wanted.condition, top, start.fresh, most)
        if not ranked and plan.has_parts:
            plan = await self._read(partial(ranking.plan, query=wanted.query, in_parts=True))
            ranked = await self._ranked(plan, wanted.condition, top, start.fresh, most)
        if wanted.live is not None:
            ranked = await self._live(wanted, ranked, end + 1)
        page = ranked[start.offset : end]
        look = Look(plan.wanted, size, wanted.live, {each.event: each.score for each in page})
        hits = await self._show(look, [each.event for each in page])
        lacking = {each.event: plan.lacking(each.found) for each in page}
        hits = [{**hit, **({"without": lacking[hit["id"]]} if lacking[hit["id"]] else {})} for hit in hits]
        following = start.following(top, end) if end < len(ranked) else None
        # The known words are those of all agents, the hidden ones too.
        instead = {} if wanted.hidden else plan.instead
        return HitPage(hits, following, self.behind, instead)

    async def _ranked(
        self, plan: Plan, condition: Condition, below: int, fresh: Freshness | None, limit: int
    ) -> list[Ranked]:
        """Return the best events, the best first."""
        ranked: list[Ranked] = []
        ends = time.monotonic() + _PATIENCE
        for volume in await self._volumes():
            part = partial(
                ranking.best, volume=volume, wanted=plan, condition=condition, below=below, fresh=fresh, limit=limit
            )
            ranked = sorted(ranked + await self._read(part), key=lambda each: (-each.score, -each.event))[:limit]
            if time.monotonic() > ends:
                break
        return ranked

    async def _live(self, wanted: Criteria, ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
        """Return those of ranked events that are in the current conversation, or that are not, as it is wanted."""
        paths, left, found = Paths(), list(ranked), list[Ranked]()
        ends = time.monotonic() + _PATIENCE
        while left and len(found) < limit and time.monotonic() < ends:
            some, done = await self._read(partial(finding.live_of, wanted=wanted, paths=paths, ranked=left))
            found += some
            del left[:done]
        return found[:limit]

    async def _volumes(self) -> list[Volume]:
        return await self._read(partial(volumes.down_from, below=1 << 62))

    async def _find(self, wanted: Criteria, limit: int, below: int | None) -> tuple[list[int], int]:
        """Return events, and the id below which there may be more; 0 if there are no more."""
        limits = partial(finding.bounds, since=wanted.since, until=wanted.until, newest=self.indexed)
        floor, high = await self._read(limits)
        high = high if below is None else min(high, below)
        ends, begun, paths = time.monotonic() + _PATIENCE, high, Paths()
        events: list[int] = []
        while high > floor and len(events) < limit and (time.monotonic() < ends or high == begun):
            part = await self._read(
                partial(finding.find, wanted=wanted, paths=paths, low=floor, high=high, limit=limit - len(events))
            )
            events += part.events
            high = part.reached
        return events, high if high > floor else 0

    async def _show(self, look: Look, events: Sequence[int]) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = []
        paths, done = Paths(), 0
        while done < len(events):
            some = await self._read(partial(finding.shown, look=look, paths=paths, events=events[done:]))
            hits += some.hits
            done += some.done
        return hits


def pause_after(seconds: float, *, is_busy: bool) -> float:
    """Return how many seconds the index pauses after a batch.

    Args:
        seconds: how long the batch took.
        is_busy: whether others wrote during the batch.
    """
    return _RESTS * seconds if is_busy else 0.0


def _interruptible(job: Job[T], abandoned: Callable[[], bool], connection: sqlite3.Connection) -> T:
    connection.set_progress_handler(abandoned, finding.STEPS)
    try:
        return job(connection)
    finally:
        connection.set_progress_handler(None, 0)
