"""Runs erasures concurrently with all other work: one at a time, in slices between which others read and commit.

See :mod:`reeld.store.erasures` for the steps, and :mod:`reeld.store.redacting` and :mod:`reeld.store.purging` for what
is erased.
"""

import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio

from reel.base.errors import Storage
from reel.wire.msgpack_codec import packer
from reeld.store import erasures
from reeld.store.connection_thread import Job
from reeld.store.engine import Engine, Exclusion
from reeld.store.erasing_backups import FindIn, erase_in, require_backup
from reeld.store.erasures import Change, Order
from reeld.store.plans import Plan, carry_out_between
from reeld.store.room import require_room
from reeld.store.sweep import Ground, Sweep, forget_pages, give_back_room
from reeld.store.wal import checkpoint, try_checkpoint, wal_readers

log = logging.getLogger(__name__)

T = TypeVar("T")

# Milliseconds for which commits are blocked while it waits for readers of the WAL, seconds between two attempts, and
# the attempts after which the caller is told that traces are left. A large file has to be held often, so what was
# cleared earns some more.
_PATIENCE = 50
_PAUSE = 0.1
_TRIES = 100
_EARNED = 10
# Seconds for which others have the processor between two moments of clearing pages.
_REST = 0.005
# Bytes of the WAL from which on free pages stay in the file: a reader keeps the WAL from being overwritten.
_LONG_WAL = 16 << 20
_IN_THE_INDEX = "the search index still has traces of what was erased"
_LATER = "it is completed as soon as that is possible; see reel status"


class Eraser:
    """Erases events of an open database.

    Args:
        engine: the database.
        read: runs a job on a reading connection.
        on_applied: called when an erasure becomes visible to readers of the log.
    """

    def __init__(
        self, engine: Engine, read: Callable[[Job[Any]], Awaitable[Any]], on_applied: Callable[[], None] = lambda: None
    ) -> None:
        self._engine = engine
        self._database = engine.database
        self._ground = engine.ground
        self._read = read
        self._on_applied = on_applied
        self._turn = anyio.Lock()
        recovered = engine.recovered
        # How many erasures of this run are visible to readers of the log.
        self.applied = 0
        # Whether the search index may have traces of an erasure: it was completed when the database was opened, or the
        # index could not be removed.
        self.index_has_traces = recovered.was_decided
        # Whether the file may have traces of erased content; on a server, whether an erasure is to be marked as done.
        self.has_traces = recovered.was_decided and engine.is_file
        # Whether that may be so on the disk alone, because a sync has failed.
        self._is_in_doubt = False
        # Whether an erasure was decided, and not applied or not forgotten by all that is in memory; or was not decided,
        # and could not be abandoned.
        self.is_stuck = recovered.problem is not None
        # Why something is left of an erasure, as a sentence.
        self.problem = recovered.problem

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for other erasures; one that is undecided at the end of the block is abandoned.

        Raises:
            Storage: another one was decided and could not be applied; or other daemons use the database.
        """
        async with self._turn, self._alone():
            if self.is_stuck:
                raise Storage(f"nothing was erased: one before it is not complete; {_LATER}")
            async with self._until_forgotten():
                try:
                    yield
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._abandon()

    @asynccontextmanager
    async def second_turn(self) -> AsyncIterator[None]:
        """Wait for other erasures, to complete the one that could not be applied.

        Raises:
            Storage: other daemons use the database.
        """
        async with self._turn, self._alone(), self._until_forgotten():
            yield

    @asynccontextmanager
    async def _until_forgotten(self) -> AsyncIterator[None]:
        """Take an erasure for incomplete if the block fails after it began to apply it: memory may still have it."""
        applied = self.applied
        try:
            yield
        except BaseException:
            if self.applied > applied:
                self.is_stuck, self.problem = True, self.problem or erasures.INCOMPLETE
            raise

    async def _abandon(self) -> None:
        """Abandon an undecided erasure; if that fails, nothing is erased until :meth:`apply` has done it.

        Another erasure would do what is still staged as well.
        """
        try:
            self.is_stuck |= await self._database.run(_abandon)
        except sqlite3.Error as error:
            self.is_stuck = True
            self.problem = self.problem or f"it is not known whether anything is left of an erasure: {error}"

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Keep other daemons out: what is erased is in their memory and in their search indexes."""
        if self._engine.lone is None:
            yield
            return
        try:
            is_alone = await self._database.run(self._engine.lone.take)
        except sqlite3.Error as error:
            raise Storage(f"nothing was erased: {error}") from error
        if not is_alone:
            raise Storage(
                "nothing was erased: other daemons use this database and remember what it has; stop them first"
            )
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._let_others_in(self._engine.lone)

    async def _let_others_in(self, lone: Exclusion) -> None:
        """Let other daemons in again; that fails above all if the connection is lost, and then they are let in."""
        try:
            await self._database.run(lone.give_back)
        except sqlite3.Error as error:
            log.warning("other daemons that start may have to wait for the end of this one: %s", error)

    async def plan(self, plan: Plan[T]) -> T:
        """Run the jobs of a plan interleaved with other reads; return the result of the plan."""
        return await carry_out_between(plan, self._read)

    async def stage(self, order: Order, changes: Iterable[Change], backups: Sequence[str] = ()) -> int:
        """Write the new form of events beside the log; return the number of the erasure.

        Raises:
            Storage: it cannot be written, or there is no room to apply it; nothing has changed.
        """
        try:
            if self._ground is not None:
                needed = await anyio.to_thread.run_sync(erasures.room_for, changes)
                require_room(self._ground.path, needed, "nothing was erased")
            erasure = await self._run(partial(erasures.begin, order=order, backups=json.dumps(list(backups))))
            for part in erasures.slices(changes):
                await self._run(partial(erasures.stage, changes=part))
        except (OSError, sqlite3.Error) as error:
            raise Storage(f"nothing was erased: {error}") from error
        return erasure

    async def _run(self, job: Job[T]) -> T:
        """Run a job that writes, and copy the WAL, so that the next one overwrites it."""
        result = await self._database.run(partial(_run_alone, lone=self._engine.lone, job=job))
        if self._ground is not None:
            await self._database.run(try_checkpoint)
        return result

    async def require_backups(self, paths: Sequence[str]) -> None:
        """Refuse a command that names a file in which nothing can be erased, before any of the files changes.

        Raises:
            InvalidParams: one is not a backup of this version.
            Storage: one cannot be read.
        """
        for path in paths:
            await anyio.to_thread.run_sync(require_backup, path)

    async def erase_in_backups(self, paths: Sequence[str], order: Order, find: FindIn) -> list[dict[str, Any]]:
        """Erase in the backups that :meth:`stage` has recorded; return the path of each, and how many events changed.

        Raises:
            InvalidParams: one is not a backup of this version.
            Storage: one cannot be written.
        """
        done = []
        for path in paths:
            events = await anyio.to_thread.run_sync(erase_in, path, order, find)
            done.append({"path": path, "events": events})
        return done

    async def apply(self) -> None:
        """Apply the decided erasure, or abandon an undecided one.

        Raises:
            Storage: it cannot be written; it is completed later.
        """
        try:
            await carry_out_between(erasures.recovery(packer()), self._run)
        except sqlite3.Error as error:
            self.is_stuck = True
            self._note(f"{erasures.INCOMPLETE}: {error}")
            raise Storage(f"{self.problem}; {_LATER}") from error
        finally:
            self.applied += 1  # even if it is not complete: some of it is
            self._on_applied()
            self.has_traces = True
        self.is_stuck, self.problem = False, None

    async def clean(self) -> bool:
        """Remove every trace from the file and the WAL; return whether nothing is left.

        A server's files are its administrator's.
        """
        self.has_traces, left = True, "the file still has traces of what was erased"
        try:
            if self._ground is not None:
                await self._give_back_room()
                await self._sweep(self._ground)
                for connection in (*self._engine.readers, *filter(None, [self._engine.copier])):
                    await connection.run(forget_pages)
            self.has_traces, left = False, "an erasure cannot be recorded as complete"
            await self._end()
        except (OSError, sqlite3.Error, Storage) as error:
            self.has_traces = True
            self._note(f"{left}: {error}")
            return False
        self._note(_IN_THE_INDEX if self.index_has_traces else None)
        return not self.index_has_traces

    def _note(self, problem: str | None) -> None:
        if problem != self.problem:
            if problem is None:
                log.info("nothing is left of what was erased")
            else:
                log.warning("%s; it is tried again until it succeeds", problem)
        self.problem = problem

    async def _give_back_room(self) -> None:
        try:
            while await self._database.run(give_back_room):
                if (await self._database.run(checkpoint)).size > _LONG_WAL:
                    return
        except sqlite3.Error as error:
            log.warning("free pages stay in the file, and are used again: %s", error)

    async def _sweep(self, ground: Ground) -> None:
        sweep, tries = Sweep(ground, is_in_doubt=self._is_in_doubt), _TRIES
        try:
            while not await self._finish(sweep):
                visited = sweep.visited
                more = sweep.is_held
                while more:
                    more = await anyio.to_thread.run_sync(sweep.clear_some)
                    await anyio.sleep(_REST)
                if not sweep.is_held:
                    await anyio.sleep(_PAUSE)
                tries += _EARNED if sweep.visited > visited else -1
                if not tries:
                    raise Storage(await self._hindrance(ground))
            self._is_in_doubt = False
        except OSError:
            self._is_in_doubt = True
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._database.run(lambda _: sweep.let_go())

    async def _finish(self, sweep: Sweep) -> bool:
        """End a pass if that is possible, see :meth:`Sweep.finish`.

        While a file is displaced, the WAL must not be copied: see :meth:`reeld.store.displacement.Displacement.watch`.
        """
        if (displaced := self._engine.presence.look()) is not None:
            raise Storage(str(displaced))
        return await self._database.run(partial(sweep.finish, patience=_PATIENCE))

    @staticmethod
    async def _hindrance(ground: Ground) -> str:
        """Return what keeps the file from being cleared, as a sentence."""
        readers = await anyio.to_thread.run_sync(wal_readers, ground.path)
        return f"{', '.join(readers) or 'a backup or a long read'} reads an old state of it"

    async def look(self) -> None:
        """Find out whether a server has lost the end of an erasure, which is completed then."""
        if self._ground is None:
            async with self._turn:
                found = await self._database.run(erasures.unfinished)
                self.is_stuck |= not found.isdisjoint({erasures.STAGED, erasures.DECIDED})
                self.has_traces |= erasures.APPLIED in found

    async def tidy(self) -> None:
        """Remove the remaining traces of an erasure, when no other one goes on."""
        if self.has_traces:
            async with self._turn:
                if self.has_traces and not self.is_stuck:
                    await self.clean()

    async def end(self) -> None:
        """Note that the search index has no traces of an erasure any more."""
        self.index_has_traces = False
        async with self._turn:
            await self._end()
            if self.problem == _IN_THE_INDEX:
                self._note(None)

    async def _end(self) -> None:
        """Mark the applied erasure as done, if nothing has traces of it."""
        if not (self.index_has_traces or self.is_stuck or self.has_traces):
            await self._database.run(erasures.end)


def _run_alone(connection: sqlite3.Connection, lone: Exclusion | None, job: Job[T]) -> T:
    """Run a job unless other daemons may have begun since they were kept out."""
    if lone is not None:
        lone.require(connection)
    return job(connection)


def _abandon(connection: sqlite3.Connection) -> bool:
    """Abandon an undecided erasure; return whether one is decided and not applied."""
    found = erasures.unfinished(connection)
    if found & {erasures.STAGED, erasures.DECIDED} == {erasures.STAGED}:
        erasures.abandon(connection)
    return erasures.DECIDED in found
