"""The persistence task: a batch is whatever queued up during the last commit.

There is no timer and no batch size to configure (Redis's append-only file and bbolt's ``Batch`` work the same way): a
single command is committed at once, and under load the batches grow by themselves. A commit begins at the end of a
batch of requests (:mod:`reeld.core.batch`), or right after the previous commit was settled, so that it wakes no task.
The writer's task does what has to await something, such as a checkpoint, and begins commits that were submitted outside
of a batch. Where a commit runs, in this thread or in the connection's, is decided in :mod:`reeld.store.pace`.

Nothing is reported before the commit has returned. Each transaction's ``settle`` is then called from here, in commit
order, on the trio thread: it applies the events and answers without waking another task. An exception in ``settle`` is
a bug and takes the daemon down; the supervisor restarts it, and the log is the truth. The other transactions of the
commit are settled all the same: they are written, and must not be answered like those that are not.

A transaction stays in the queue until it is settled, so that a failing writer leaves no caller waiting.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import anyio
from anyio.abc import TaskStatus

from reel.base.errors import Internal, Storage
from reel.base.wakeup import Signal
from reel.stats.histograms import SIZES, Recorder
from reeld.answer import Answer
from reeld.core.milestones import Milestone
from reeld.store.changes import Changes
from reeld.store.checkpoints import Checkpoints
from reeld.store.commit_faults import CommitInDoubt, OvertakenError
from reeld.store.connection_thread import ConnectionThread
from reeld.store.housekeeping import Housekeeping
from reeld.store.loss import Forgotten, Loss
from reeld.store.pace import Pace, are_small, is_small
from reeld.store.presence import Displaced, Presence
from reeld.store.transactions import EventWriter, Outcome, Transaction, is_about

log = logging.getLogger(__name__)

Settle: TypeAlias = Callable[[Outcome], None]

# The most milestones that are written with a commit, 20 us each; a replay of a million messages finds 2,000.
_MILESTONES = 100
_FAILED = "the writer has failed and the daemon stops; retry when it is back"
_UNKNOWN = "commit state unknown: the writer has failed; check when the daemon is back, or retry with the same key"


class Writer:
    """Takes transactions at any time, commits them in order, and settles each with its outcome.

    Args:
        database: the writing connection.
        events: writes the events.
        presence: checks whether the files are still there.
        pace: decides which commits run in the event loop's thread; ``None`` if none do.
    """

    def __init__(
        self, database: ConnectionThread, events: EventWriter, presence: Presence, pace: Pace | None = None
    ) -> None:
        self._database = database
        self.presence = presence
        self.housekeeping = Housekeeping()
        self._checkpoints = Checkpoints(database, presence, self.housekeeping)
        self._event_writer = events
        self._queue: deque[tuple[Transaction, Settle]] = deque()
        # Milestones to write with the next commit: a separate sync would cost more than they do.
        self._milestones: list[Milestone] = []
        self._wake = Signal()
        self._idle = anyio.Event()
        self._closing = False
        # Whether submitted transactions must wait: for a commit, or for the task.
        self._busy = True
        # How many transactions at the front of the queue are being committed, or are and wait to be settled.
        self._in_flight = 0
        self._began = 0.0
        self._pace = pace
        # Whether the current commit runs in the event loop's thread.
        self._in_loop = False
        # Why the next commit is refused.
        self._displaced: Displaced | None = None
        # The error that ends the writer.
        self._bug: BaseException | None = None
        # All transactions that are submitted during a batch share a commit.
        self._batch = database.poller.batch
        # Whether the due checkpoint waits for one more commit.
        self._postponed = False
        self.commits = 0
        self.events = 0
        self.longest_commit = 0.0
        self.commit_seconds = Recorder()
        # How many events a commit wrote, if it wrote any.
        self.commit_events = Recorder(SIZES)
        # The id of the newest committed event.
        self.newest = events.next_id - 1
        # Of a log on a server, the newest event that is known here; and how many were found to be gone, and how often.
        self.known = events.known
        self.lost_events = self.losses = 0
        if (loss := events.take_loss()) is not None:  # found at the start, when nothing had been made from the log
            self.lost_events, self.losses = loss.events, 1
        # Called with what other daemons have written, and with a loss; see `report`.
        self._on_moved: Callable[[frozenset[int], int], None] = _ignore
        self._on_loss: Callable[[Loss, int], None] = _ignore
        # What clients see of it without a request.
        self.changes = Changes()
        # Set after each commit, for the one task that reads new events.
        self.news = Signal()

    @property
    def waiting(self) -> int:
        """How many transactions are not settled yet."""
        return len(self._queue)

    def submit(self, transaction: Transaction, settle: Settle) -> None:
        """Queue a transaction. Each agent has one in flight at most, so the queue is as long as there are agents."""
        self._queue.append((transaction, settle))
        if self._idle.is_set():
            self._fail_queued()
        elif not self._busy:
            self._busy = True
            if not self._batch.note(self._commit):
                self._wake.set()  # in its next turn, so that everything that is submitted in this one shares the commit

    async def commit(self, transaction: Transaction, on_commit: Callable[[list[int]], None]) -> None:
        """Commit a transaction and wait for it.

        The wait is shielded: the transaction is written whether its caller is cancelled or not, so the caller must
        learn of it.

        Args:
            transaction: what is written.
            on_commit: called with the id of the first event of each part, before any later commit is published.

        Raises:
            ReelError: it was not written.
            DivergedError: it was not written, because it was staged over a state that differs from the log.
        """
        answer: Answer[None] = Answer()

        def settle(outcome: Outcome) -> None:
            failure: Exception | None = outcome if isinstance(outcome, Exception) else None
            try:
                if not isinstance(outcome, Exception):
                    on_commit(outcome)
            except Exception as bug:
                failure = bug
            answer.take(failure)

        self.submit(transaction, settle)
        with anyio.CancelScope(shield=True):
            await answer.wait()

    def note(self, milestones: Sequence[Milestone]) -> None:
        """Write milestones with the next commit; if they are lost before that, they are recomputed when needed."""
        self._milestones += milestones

    def flush(self) -> None:
        """Write pending milestones now, in slices."""
        if self._milestones:
            self.submit(self._take_milestones(), lambda _: self.flush())

    def _take_milestones(self) -> Transaction:
        taken = self._milestones[:_MILESTONES]
        del self._milestones[:_MILESTONES]
        return Transaction([], [], taken)

    def report(
        self, on_moved: Callable[[frozenset[int], int], None], on_loss: Callable[[Loss, int], None] | None = None
    ) -> None:
        """Call functions with what other daemons have written, and with losses.

        Args:
            on_moved: called with the agents to which others have written and the id of the newest event, before later
                commits of this daemon are settled.
            on_loss: called with a loss and the id of the newest event, before what was staged is refused.
        """
        self._on_moved, self._on_loss = on_moved, on_loss or _ignore

    async def heartbeat(self) -> None:
        """Wait until a commit that changes nothing has returned: queue, thread and disk are alive then.

        Whether it succeeds does not matter: a full disk responds, too. It writes and syncs one page of the WAL, because
        anything less need not reach the disk: an empty transaction, a sync of an unchanged file, a read.
        """
        answer: Answer[None] = Answer()
        self.submit(Transaction([], [], is_probe=True), lambda _: answer.take(None))
        await answer.wait()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Commit until closed and drained."""
        with anyio.CancelScope(shield=True):  # accepted transactions are written before the daemon stops
            task_status.started()
            try:
                await self._work()
            finally:
                self._idle.set()
                self._fail_queued()

    async def _work(self) -> None:
        """Do what has to await something between two commits; the commits themselves wake no task."""
        while True:
            if self._bug is not None:
                raise self._bug
            if not self._in_flight:
                if self._displaced is not None:
                    await self._refuse(self._displaced)
                await self._checkpoints.do_what_is_due()
                if self._queue:
                    self._commit()
                elif self._closing:
                    return
                else:
                    self._busy = False
            await self._wake.wait()

    def _fail_queued(self) -> None:
        """Fail all queued transactions; there are none unless a bug ended the writer."""
        self.changes.note_any()  # some may be written
        while self._queue:
            _, settle = self._queue.popleft()
            is_begun, self._in_flight = self._in_flight > 0, max(0, self._in_flight - 1)
            try:
                settle(CommitInDoubt(_UNKNOWN) if is_begun else Internal(_FAILED))
            except Exception:
                log.exception("a transaction could not be settled")

    async def close(self) -> None:
        """Stop as soon as everything that was submitted has been written."""
        self.flush()
        self._closing = True
        self._wake.set()
        with anyio.CancelScope(shield=True):
            await self._idle.wait()

    def _commit(self) -> None:
        """Begin to commit the queue, or wake the task if it must not be committed."""
        self._displaced = self.presence.look()
        if self._displaced is not None:
            self._wake.set()
            return
        if self._milestones:
            self._queue.append((self._take_milestones(), lambda _: None))
        transactions = [transaction for transaction, _ in self._queue]
        self._in_flight = len(transactions)
        for transaction in transactions:
            self.changes.note(transaction)  # before others can read it in the log
        self._began = time.monotonic()
        self._in_loop = self._may_commit_here(transactions)
        if self._in_loop:
            at_once = partial(self._event_writer.commit_at_once, transactions=transactions)
            outcomes = self._database.run_here(at_once)
            self._in_loop = outcomes is not None
            if outcomes is not None:
                self._on_committed(outcomes)
                return
        self._database.submit(partial(self._event_writer.commit, transactions=transactions), self._on_committed)

    def _may_commit_here(self, transactions: list[Transaction]) -> bool:
        """Return whether the commit may run in the event loop's thread.

        The first one after a checkpoint may not: it begins the WAL again, which takes a second sync.
        """
        is_fast = self._pace is not None and self._pace.is_fast()
        return is_fast and self._checkpoints.commits > 0 and self._database.is_idle and are_small(transactions)

    def _on_committed(self, outcomes: list[Outcome] | BaseException) -> None:
        """Settle a commit, and begin the next one; a bug is raised by the task."""
        try:
            if isinstance(outcomes, BaseException):
                self._bug = outcomes
            else:
                self._settle(outcomes)
            due = self._checkpoints.is_due
            # Commits that waited for a long one need not wait for its checkpoint, too.
            self._postponed = due and not self._postponed and bool(self._queue)
            if self._bug is not None or self._closing or (due and not self._postponed):
                self._wake.set()
            elif not self._queue:
                self._busy = False
            elif self._in_loop:
                self._wake.set()  # in the next turn, after others
            else:
                self._commit()
        except BaseException as bug:
            self._bug = bug
            self._wake.set()

    def _settle(self, outcomes: list[Outcome]) -> None:
        took = time.monotonic() - self._began
        self.longest_commit = max(self.longest_commit, took)
        self.commit_seconds.observe(took)
        self.commits += 1
        loss = self._event_writer.take_loss()
        self.known = self._event_writer.known
        events, size = self._event_writer.take_written()
        self.events += events
        if events:
            self.commit_events.observe(events)
        synced = self._event_writer.take_synced()
        # A commit that failed held up the loop as well.
        if self._pace is not None and synced and (events or self._in_loop) and is_small(events, size):
            self._pace.note(synced, in_loop=self._in_loop)
        moved = self._event_writer.take_moved()
        if events or moved or loss:
            self.newest = self._event_writer.next_id - 1
            self.news.set()
        overtaken = self._dequeue(len(outcomes), lambda transaction: is_about(transaction, moved)) if moved else []
        lost = [] if loss is None else self._lose(loss, len(outcomes))
        if moved:
            self._on_moved(moved, self.newest)
        self._checkpoints.note(events, size)
        bugs: list[Exception] = []
        with self._batch:
            for outcome in outcomes:
                transaction, settle = self._queue.popleft()
                self._in_flight -= 1
                self.changes.note(transaction)  # before anybody is told
                if isinstance(outcome, Exception):
                    self.changes.note_any()  # who does not wait for the reply would take it for done
                try:
                    settle(outcome)
                except Exception as bug:
                    bugs.append(bug)
            for settle in overtaken:
                settle(OvertakenError())
            for settle in lost:
                settle(Forgotten())
        if bugs:
            raise bugs[0]

    def _lose(self, loss: Loss, settled: int) -> list[Settle]:
        """Take note of a loss; dequeue what was staged before it was known, except for the first ones."""
        self.losses += 1
        self.lost_events += loss.events
        self._milestones.clear()
        lost = self._dequeue(settled, lambda transaction: not transaction.is_look)
        self._on_loss(loss, self.newest)
        return lost

    def _dequeue(self, settled: int, is_meant: Callable[[Transaction], bool]) -> list[Settle]:
        """Dequeue some of the transactions behind those that have been committed: they must not be any more."""
        queued = list(self._queue)
        self._queue = deque(queued[:settled])
        self._queue.extend(each for each in queued[settled:] if not is_meant(each[0]))
        return [settle for transaction, settle in queued[settled:] if is_meant(transaction)]

    async def _refuse(self, displaced: Displaced) -> None:
        """Fail all queued transactions: a commit to a removed file would be lost."""
        for _ in range(len(self._queue)):
            _, settle = self._queue.popleft()
            settle(Storage(f"nothing was written: {displaced}"))
        self._displaced = None
        await anyio.lowlevel.checkpoint()  # let others run, even if the failed callers retry at once

    @property
    def problem(self) -> str | None:
        """Why commands are currently refused, with the remedy; ``None`` if commits work."""
        if (displaced := self.presence.displaced) is not None:
            return str(displaced)
        if (failure := self._event_writer.failures.current) is None:
            return None
        where = "disk" if self.presence.paths else "server"
        return f"the last commit failed: {failure}; look at the {where}, see docs/operations.md"

    async def report_failures(self) -> None:
        """Log the failed commits that were not logged yet."""
        await self._database.run(lambda _: self._event_writer.failures.report())

    async def checkpoint(self) -> None:
        """Copy the WAL into the database file; if readers let it grow, wait for them."""
        await self._checkpoints.checkpoint()


def _ignore(_what: object, _newest: int) -> None:
    """Ignore what others have written, and losses: nothing has been read yet."""
