"""Runs erasures concurrently with all other work: one at a time, in slices between which others read and commit.

See :mod:`reeld.store.erasures` for the steps, and :mod:`reeld.store.redacting` and :mod:`reeld.store.purging` for what
is erased.
"""

import json
import logging
import math
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from typing import Any

import anyio

from reel.errors import Storage
from reel.msgpack_codec import packer
from reeld.store import erasures, traces
from reeld.store.database import Database, Job
from reeld.store.engine import Lone
from reeld.store.erasing_backups import Find, erase_in, require_backup
from reeld.store.erasures import Change, Order
from reeld.store.redacting import Plan, T
from reeld.store.wal import truncate_wal

log = logging.getLogger(__name__)

# Milliseconds for which commits are blocked while it waits for readers of the WAL, seconds between two attempts, and
# the attempts after which the caller is told that traces are left.
_PATIENCE = 50
_PAUSE = 0.1
_TRIES = 100
# How long rewriting a file may take: seconds, and bytes per second of the slowest disk that counts as working.
_REWRITING = 60
_SLOWEST = 2_000_000
_AGAIN = "start the daemon again when the disk works"


class Eraser:
    """Erases events of an open database.

    Args:
        database: the writing connection.
        others: the reading connections.
        read: runs a job on one of them.
        is_file: whether the database is a file, from which traces can be removed.
    """

    def __init__(
        self,
        database: Database,
        others: Sequence[Database],
        read: Callable[[Job[Any]], Awaitable[Any]],
        lone: Lone | None,
        *,
        is_file: bool,
    ) -> None:
        self._is_file = is_file
        self._database = database
        self._others = others
        self._read = read
        self._turn = anyio.Lock()
        self._lone = lone
        # How many erasures of this run are visible to readers of the log.
        self.applied = 0
        # Whether the search index may have traces of an erasure that was completed when the database was opened.
        self.carried = False
        # Whether the file may have traces of erased content, because a reader still uses an old snapshot.
        self.has_traces = False
        # Whether an erasure was decided and could not be applied.
        self._is_stuck = False
        # The deadline of the current rewrite of the file.
        self._rewritten_by = -math.inf

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for other erasures; one that is undecided at the end of the block is abandoned.

        Raises:
            Storage: another one was decided and could not be applied; or other daemons use the database.
        """
        async with self._turn, self._alone():
            if self._is_stuck:
                raise Storage(f"nothing was erased: an erasure before it could not be applied; {_AGAIN}")
            if self.has_traces:
                await self.clean()
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    self._is_stuck = await self._database.run(_abandon)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Keep other daemons out: what is erased is in their memory and in their search indexes."""
        if self._lone is None:
            yield
            return
        if not await self._database.run(self._lone.take):
            raise Storage(
                "nothing was erased: other daemons use this database and remember what it has; stop them first"
            )
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._database.run(self._lone.give_back)

    async def plan(self, plan: Plan[T]) -> T:
        """Run the jobs of a plan interleaved with other reads; return the result of the plan."""
        result = None
        while True:
            try:
                job = plan.send(result)
            except StopIteration as end:
                planned: T = end.value
                return planned
            result = await self._read(job)

    async def stage(self, order: Order, changes: Iterable[Change], backups: Sequence[str] = ()) -> int:
        """Write the new form of events beside the log; return the number of the erasure.

        Raises:
            Storage: it cannot be written; nothing has changed.
        """
        try:
            erasure = await self._database.run(partial(erasures.begin, order=order, backups=json.dumps(list(backups))))
            rest = iter(changes)
            while part := list(islice(rest, erasures.SLICE)):
                await self._database.run(partial(erasures.stage, changes=part))
        except sqlite3.Error as error:
            raise Storage(f"nothing was erased: {error}") from error
        return erasure

    async def require_backups(self, paths: Sequence[str]) -> None:
        """Refuse a command that names a file in which nothing can be erased, before any of the files changes.

        Raises:
            InvalidParams: one is not a backup of this version.
            Storage: one cannot be read.
        """
        for path in paths:
            await anyio.to_thread.run_sync(require_backup, path)

    async def erase_in_backups(self, paths: Sequence[str], order: Order, find: Find) -> list[dict[str, Any]]:
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
        """Apply the decided erasure.

        Raises:
            Storage: it cannot be written; it is completed at the next start.
        """
        pack = packer()
        try:
            while await self._database.run(partial(erasures.apply, pack=pack)):
                pass  # so that commits can run in between
            self.applied += 1
            after: int | None = 0
            while after is not None:
                after = await self._database.run(partial(erasures.forget_keys, after=after))
            await self._database.run(erasures.forget_agents)
        except sqlite3.Error as error:
            raise Storage(
                f"what is to be erased is decided, but could not all be overwritten: {error}; {_AGAIN}"
            ) from error

    async def clean(self) -> bool:
        """Remove every trace from the file and the WAL; return whether nothing is left.

        A server's files are its administrator's.
        """
        if not self._is_file:
            await self._end()
            return True
        self.has_traces = True
        try:
            await self._rewrite()
            for _ in range(_TRIES):
                if await self._empty_wal():
                    return True
                await anyio.sleep(_PAUSE)
        except (sqlite3.Error, Storage) as error:
            log.warning("the file still has traces of what was erased, which are removed later: %s", error)
        return False

    async def _rewrite(self) -> None:
        size = await self._read(traces.file_size)
        self._rewritten_by = anyio.current_time() + _REWRITING + size / _SLOWEST
        try:
            await self._database.run(traces.rewrite)
        finally:
            self._rewritten_by = -math.inf

    def is_rewriting(self) -> bool:
        """Return whether the file is being rewritten, which blocks all commits, and is still within its deadline."""
        return anyio.current_time() < self._rewritten_by

    async def _empty_wal(self) -> bool:
        """Empty the WAL if nobody reads it; return whether no traces are left."""
        if await self._database.run(partial(truncate_wal, patience=_PATIENCE)):
            for connection in (self._database, *self._others):
                await connection.run(traces.forget_pages)
            self.has_traces = False
            await self._end()
        return not self.has_traces

    async def tidy(self) -> None:
        """Remove the remaining traces of an erasure, at an idle moment."""
        if self.has_traces and not self._turn.locked():
            async with self._turn:
                await self._empty_wal()

    async def end(self) -> None:
        """Note that the search index has no traces of an erasure that was completed at the start."""
        async with self._turn:
            self.carried = False
            await self._end()

    async def _end(self) -> None:
        """Mark the applied erasure as done, if nothing has traces of it."""
        if not (self.carried or self.has_traces):
            await self._database.run(erasures.end)


def _abandon(connection: sqlite3.Connection) -> bool:
    """Abandon an undecided erasure; return whether one is decided and not applied."""
    found = erasures.unfinished(connection)
    if found & {erasures.STAGED, erasures.DECIDED} == {erasures.STAGED}:
        erasures.abandon(connection)
    return erasures.DECIDED in found
