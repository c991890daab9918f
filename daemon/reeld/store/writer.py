"""The persistence task: whatever queued up during the last commit is the next transaction.

Nobody is told before the commit returned. Each transaction's ``settle`` is then called in commit order, on the trio
thread, from here: it applies the events and answers without waking another task. What ``settle`` raises is a
bug and takes the daemon down: the log decides what was true.
A transaction stays in the queue until it is settled, so that a writer that fails leaves nobody waiting.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import anyio
from anyio.abc import TaskStatus

from reel.errors import Internal, Storage
from reeld.core.events import Event
from reeld.store.database import Database
from reeld.store.presence import Displaced, Presence
from reeld.store.transactions import EventWriter, Outcome, Transaction, checkpoint, restart_wal

log = logging.getLogger(__name__)

Settle: TypeAlias = Callable[[Outcome], None]

# Pages between two checkpoints, so that the WAL stays some megabytes in size. A commit to a WAL that grows takes twice
# as long as one that writes over what is there: the first checkpoint is to come soon after the start.
_CHECKPOINT_EVERY = 1000
# What a commit costs the WAL beside its rows: pages of the list of agents and of the indexes.
_PAGES_OF_A_COMMIT = 4
_PAGE = 4096
# Readers that are never all at rest keep the WAL from being written over. At this size, in bytes, commits wait for
# them, as many milliseconds.
_LARGE = 64 << 20
_PATIENCE = 250
_MAX_PATIENCE = 5000


class Writer:
    """Takes transactions at any time, commits them in order, and tells each what came of it."""

    def __init__(self, database: Database, end: EventWriter, presence: Presence) -> None:
        self._database = database
        self.presence = presence
        self._end = end
        self._queue: deque[tuple[Transaction, Settle]] = deque()
        self._wake = anyio.Event()
        self._idle = anyio.Event()
        self._closing = False
        self._pages = 0
        self._large = _LARGE
        self.commits = 0
        self.events = 0
        self.longest_commit = 0.0

    @property
    def waiting(self) -> int:
        """How many transactions wait to be settled."""
        return len(self._queue)

    def submit(self, transaction: Transaction, settle: Settle) -> None:
        """Queue a transaction. Each agent has one in flight at most, so the queue is as long as there are agents."""
        self._queue.append((transaction, settle))
        self._wake.set()
        if self._idle.is_set():
            self._abandon()

    async def prove(self) -> None:
        """Wait until a transaction that writes nothing has come back: queue, thread and disk are alive then."""
        settled = anyio.Event()
        self.submit(Transaction([], []), lambda _: settled.set())
        await settled.wait()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Commit until closed and drained."""
        with anyio.CancelScope(shield=True):  # what was accepted is written, whoever wants to stop
            task_status.started()
            try:
                await self._work()
            finally:
                self._idle.set()
                self._abandon()

    async def _work(self) -> None:
        while self._queue or not self._closing:
            if self._queue:
                await self._commit()
            else:
                await self._wake.wait()
                self._wake = anyio.Event()

    def _abandon(self) -> None:
        """Answer whoever still waits, which is nobody unless a bug ended the writer."""
        while self._queue:
            _, settle = self._queue.popleft()
            try:
                settle(Internal("the writer has ended and the daemon stops; ask again when it is back"))
            except Exception:
                log.exception("a transaction could not be settled")

    async def close(self) -> None:
        """Stop as soon as everything that was submitted has been written."""
        self._closing = True
        self._wake.set()
        with anyio.CancelScope(shield=True):
            await self._idle.wait()

    async def _commit(self) -> None:
        if (displaced := self.presence.look()) is not None:
            await self._refuse(displaced)
            return
        transactions = [transaction for transaction, _ in self._queue]
        began = time.monotonic()
        outcomes = await self._database.run(lambda connection: self._end.commit(connection, transactions))
        self.longest_commit = max(self.longest_commit, time.monotonic() - began)
        self.commits += 1
        written = [
            transaction
            for transaction, outcome in zip(transactions, outcomes, strict=True)
            if not isinstance(outcome, Exception)
        ]
        events = [event for transaction in written for part in transaction.parts for event in part.events]
        self.events += len(events)
        for outcome in outcomes:
            _, settle = self._queue.popleft()
            settle(outcome)
        self._pages += _PAGES_OF_A_COMMIT + sum(map(_pages_of, events))
        if self._pages >= _CHECKPOINT_EVERY:
            await self.checkpoint()

    async def _refuse(self, displaced: Displaced) -> None:
        """Answer those who wait now: what is committed to a file that is gone is lost."""
        for _ in range(len(self._queue)):
            _, settle = self._queue.popleft()
            settle(Storage(f"nothing was written: {displaced}"))
        await anyio.lowlevel.checkpoint()  # as after a commit: those who ask again at once must not stop all else

    async def checkpoint(self) -> None:
        """Copy the WAL into the database file; where readers let it grow, wait for them."""
        self._pages = 0
        try:
            size = (await self._database.run(checkpoint)).frames * _PAGE
            if size < self._large // 2:  # smaller than when readers were in the way: it has begun anew since
                self._large = _LARGE
            elif size >= self._large:
                await self._restart_wal(size)
        except Exception as error:
            log.warning("checkpoint failed, the WAL goes on growing: %s", error)

    async def _restart_wal(self, size: int) -> None:
        """Let the WAL begin anew; the larger it is, the longer commits may wait for that, and the rarer it is tried."""
        patience = _PATIENCE * size // _LARGE
        done = await self._database.run(lambda connection: restart_wal(connection, min(patience, _MAX_PATIENCE)))
        self._large = _LARGE if done else 2 * size
        if not done:
            log.warning("somebody reads for long; the WAL has %d MB and grows", size >> 20)


def _pages_of(event: Event) -> int:
    """Guess what an event costs the WAL: a page for its row, and those that its text fills."""
    return 1 + (len(event.content or "") + len(event.data_json or "")) // _PAGE
