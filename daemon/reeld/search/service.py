"""The index of a running daemon: one task indexes new commits, and searches read the index.

Commits and the index do not wait for each other: the index reads the log through its own connection, up to the newest
committed event. If its file is missing, damaged or outdated, it is rebuilt. If it cannot be used at all, everything
except search works.
"""

import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio

from reel.base.errors import Storage
from reel.base.installation import UPDATED
from reel.daemon.address import state_directory
from reel.touches.describing import Described
from reeld.search import index, index_file, touched, trigrams
from reeld.search.attached_log import LogError
from reeld.search.filler import Abandoned, Filler
from reeld.search.index import Outdated
from reeld.search.index_file import path_for, path_of
from reeld.search.lengths import Known
from reeld.search.opened_index import OpenedIndex, open_index
from reeld.search.pauses import Pauses, pause_after
from reeld.search.texts import Text
from reeld.store.connection_thread import Job, T
from reeld.store.presence import LOCK
from reeld.store.room import NoRoomError, require_room, size_of
from reeld.store.store import Store

log = logging.getLogger(__name__)

# Seconds from a commit to its batch: commits in between share the batch.
_DELAY = 0.2
# Seconds until the index is opened, so that who has started the daemon is answered first: it takes 10 ms of processor
# time. A search and an erasure do not wait for that.
_CALM = 0.1
# Seconds for which it is waited for before it is said that nobody knows yet which events it has.
_MOMENT = 1.0
# Seconds until what others keep for a moment is tried again: the log on a server that restarts, a file that is locked.
_SOON = 2.0
# Seconds until an index that cannot be used is tried again.
_RETRY = 60.0
# The room on its disk that is left to the log. And the share of the log's size that a new index needs at least: it had
# 11 per cent where every word was another one, with texts of 100 to 800 characters.
_ROOM = 16 << 20
_SHARE = 1 / 8
_NO_OTHERS = Described()


class Search:
    """The index of a store; :meth:`run` fills it.

    Args:
        store: the log.
        described: the tools whose calls are known.
    """

    def __init__(self, store: Store, described: Described = _NO_OTHERS) -> None:
        self._store = store
        self._described = described
        # How the index reads the log: its path, or a function that opens a connection to it.
        self._log = store.engine.open_log or store.path
        self.path = path_of(store.path) if store.is_file else path_for(state_directory(), store.engine.id)
        # The id of the newest event in the index.
        self.indexed = 0
        # That of the newest event in its table of what calls did.
        self.touched = 0
        # How many events in the index have no trigrams yet.
        self.without_trigrams = 0
        # The lengths that searches have read.
        self.known = Known()
        # Why there is no index, as a sentence.
        self.problem: str | None = None
        self._index: OpenedIndex | None = None
        # Set when it is open, or cannot be opened.
        self._opened = anyio.Event()
        # Set when somebody needs the index, or has had the time to be answered first.
        self._is_needed = anyio.Event()
        # Whether it is opened at all.
        self._is_run = False
        self._news = store.writer.news
        # Set when a batch is in the index, and replaced then; and set when somebody waits for the next one.
        self._filled = anyio.Event()
        self._hurry = anyio.Event()
        self._pauses = Pauses()
        # The right to open the index, write to it or remove it: it is held while the filler runs a job, starts its
        # process or ends it.
        self._turn = anyio.Lock()
        self._filler = Filler(self.path, self._log, described)

    @property
    def behind(self) -> int:
        """The number of events that are not in the index yet."""
        return max(0, self._store.writer.newest - self.indexed)

    @property
    def touches_behind(self) -> int:
        """The number of events that are not in the table of what calls did yet."""
        return max(0, self._store.writer.newest - self.touched)

    @property
    def size(self) -> int | None:
        """The size of the file in bytes; ``None`` if there is no file."""
        return size_of(self.path)

    async def run(self) -> None:
        """Fill the index until cancelled."""
        self._is_run = True
        while True:
            try:
                if self._store.eraser.index_has_traces:
                    await self._forget_all()
                await self._follow()
            except Outdated as error:
                await self._build_again(str(error))
            except (LogError, NoRoomError) as error:
                self._fail(error.message)
                is_server = isinstance(error, LogError) and not self._store.is_file
                await anyio.sleep(_SOON if is_server else _RETRY)
            except ImportError:
                self._fail(UPDATED)
                await anyio.sleep(_RETRY)
            except MemoryError:
                self._fail("there is not enough memory to fill the search index")
                await anyio.sleep(_RETRY)
            except (OSError, sqlite3.Error, Storage) as error:
                if isinstance(error, sqlite3.Error) and index_file.is_damage(error):
                    await self._build_again(f"is damaged ({error})")
                else:
                    self._fail(f"{self.path} cannot be used: {error}")
                    await anyio.sleep(_SOON if index_file.is_locked(error) else _RETRY)

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
            index_file.remove(self.path)
        except OSError as error:
            self._fail(f"{self.path} cannot be removed: {error.strerror}")
            await anyio.sleep(_RETRY)

    async def _forget_all(self) -> None:
        """Remove an index that may contain what was being erased when the daemon was killed."""
        index_file.remove(self.path)
        await self._store.eraser.end()

    @asynccontextmanager
    async def without(self, events: Sequence[int], instead: Mapping[int, Text]) -> AsyncIterator[None]:
        """Remove events from the index; the block changes the log, while indexing is suspended.

        If that fails, the whole index is removed, and rebuilt from the changed log.

        Args:
            events: the ids of the removed events.
            instead: replacement texts of others, by their ids.
        """
        async with self._alone():  # the process has had the texts in its memory, and pages of the index
            opened = self._index
            is_sound = opened is not None and await opened.replace(events, instead)
            try:
                yield
            except BaseException:
                is_sound = False
                raise
            finally:
                if opened is None or not (is_sound and await opened.settle()):
                    self._remove()

    def _remove(self) -> None:
        try:
            index_file.remove(self.path)
        except OSError as error:
            self._fail(f"{self.path} has traces of what was erased, and cannot be removed: {error.strerror}")
            self._store.eraser.index_has_traces = True
        if self._index is not None:
            self._index.is_abandoned = True
        self._news.set()

    async def begin_again(self) -> None:
        """Remove the index, which is built again: the log has changed."""
        async with self._alone():  # the process may have in its memory what the log no longer has
            self._remove()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Have the turn, without a process: one that somebody has stopped would keep it for minutes."""
        self._filler.abandon()
        self._is_needed.set()
        async with self._turn:
            await self._filler.end()
            yield

    def _fail(self, problem: str) -> None:
        if problem != self.problem:
            log.error("searching does not work: %s", problem)
        self.problem = problem
        self._opened.set()

    async def _follow(self) -> None:
        """Open the index, and keep it up to date until it is removed, also by others, or found damaged."""
        displaced = self._store.displacement.displaced
        if displaced is not None and displaced.kind != LOCK:
            raise Storage(str(displaced))
        async with AsyncExitStack() as stack:
            async with self._turn:  # an erasure might remove the file just now
                with anyio.move_on_after(_CALM):
                    await self._is_needed.wait()
                self._is_needed.set()
                if self._store.eraser.index_has_traces:  # an erasure could not remove it
                    return
                opened = await stack.enter_async_context(self._open())
                await stack.enter_async_context(self._filler.beside(opened.writer))
            while True:
                async with self._turn:
                    if opened.is_damaged:
                        raise Outdated("is damaged")
                    if opened.is_abandoned:
                        return
                    if opened.is_displaced:
                        log.warning("the search index %s was removed or replaced; it is opened again", self.path)
                        return
                    began, written, newest = time.monotonic(), self._store.writer.events, self._store.writer.newest
                    await self._filler.adapt(max(self.behind, self.touches_behind))
                    try:
                        filled = await self._fill() if self._has_room() else None
                    except Abandoned:
                        continue
                if filled is None:
                    with anyio.move_on_after(_RETRY):
                        await self._news.wait()
                    await anyio.sleep(_DELAY)
                    continue
                # The newest event may have been purged before it came into the index.
                before, self.indexed = self.indexed, filled.event if filled.more else max(filled.event, newest)
                is_complete = not filled.more and filled.touched == filled.event
                self.touched = self.indexed if filled.touched == filled.event else filled.touched
                self.without_trigrams = filled.without_trigrams
                self._filled.set()
                self._filled = anyio.Event()
                pause = self._pause(began, written, self.indexed - before)
                if is_complete:
                    with suppress(Abandoned):
                        await self._make_groups(opened)
                    with anyio.move_on_after(self._filler.patience):
                        await self._news.wait()
                    pause = max(pause, _DELAY)
                with anyio.move_on_after(pause):
                    await self._hurry.wait()
                self._hurry = anyio.Event()

    async def _fill(self) -> index.Filled:
        """Put the next events into the index."""
        filled = await self._filler.run(index.fill)
        if filled.more or filled.touched >= filled.event:
            return filled
        return filled._replace(touched=await self._filler.run(index.fill_touches))

    def _pause(self, began: float, written: int, indexed: int) -> float:
        """Return how many seconds to pause after a batch; a process needs no pause, as the system lets others go first.

        Args:
            began: when the batch began.
            written: how many events others had written until then.
            indexed: how many events the batch had.
        """
        if self._filler.has_process:
            return 0.0
        return pause_after(time.monotonic() - began, self._store.writer.events - written, indexed)

    async def _make_groups(self, opened: OpenedIndex) -> None:
        """Make groups of trigrams until something is to be indexed, or there is no more to do."""
        while not self.behind:
            async with self._turn:
                if opened.is_damaged or opened.is_abandoned or not self._has_room():
                    return
                began, written = time.monotonic(), self._store.writer.events
                await self._filler.adapt(self.without_trigrams - trigrams.MOST_WAITING)
                more = await self._filler.run(index.make_groups)
                self.without_trigrams = await self._filler.run(trigrams.lacking)
            if not more:
                return
            with anyio.move_on_after(self._pause(began, written, indexed=1)):
                await self._hurry.wait()

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
    async def _open(self) -> AsyncIterator[OpenedIndex]:
        if not self._store.is_file:
            Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            self._require_room_to_build()
        async with open_index(self._store, self.path, self._log, self._described) as opened:
            self.indexed = await opened.writer.run(index.progress)
            self.touched = await opened.writer.run(touched.position)
            self.without_trigrams = await opened.writer.run(trigrams.lacking)
            self._index, self.problem = opened, None
            self._opened.set()
            try:
                yield opened
            finally:
                self._index, self._opened = None, anyio.Event()
                # What is built again begins with nothing, and a search that waits for it says so.
                self.indexed = self.touched = self.without_trigrams = 0

    async def opened(self) -> OpenedIndex:
        """Return the index once it is open: before, nobody knows which events it has.

        Raises:
            Storage: the index cannot be read.
        """
        self._is_needed.set()
        await self._opened.wait()
        if self._index is None:
            raise Storage(f"searching does not work: {self.problem}")
        return self._index

    async def known_soon(self) -> None:
        """Wait until the index is open, for a moment at most: before, it seems to have no event."""
        self._is_needed.set()
        if self._is_run:
            with anyio.move_on_after(_MOMENT):
                await self._opened.wait()

    async def read(self, job: Job[T]) -> T:
        """Run a job on a reading connection; abort it if nobody waits for the result any more.

        Raises:
            Storage: the index cannot be read.
        """
        opened = await self.opened()
        try:
            return await opened.read(job)
        except sqlite3.Error as error:
            if index_file.is_damage(error):
                opened.is_damaged = True
                self._news.set()
                raise Storage("the search index is damaged, and built again; repeat the search later") from error
            raise Storage(f"the search index cannot be read: {error}") from error

    async def catch_up(self, seconds: float) -> None:
        """Wait until the index has everything that was committed before, for so long at most."""
        newest = self._store.writer.newest
        self._is_needed.set()
        with anyio.move_on_after(seconds):
            while self.indexed < newest and self.problem is None:
                self._hurry.set()
                await self._filled.wait()
