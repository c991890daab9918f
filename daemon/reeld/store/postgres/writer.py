"""Commits to a server in two round trips: one for ids and news of other daemons, one for everything else.

A single row has the newest id (``log``). A commit locks it first, and a concurrent one waits until the first has
committed. So ids have no gaps and follow the order of commits, whichever daemon writes: a reader that has read up to an
id has missed nothing before it.

If no other daemon has written since its last commit, a daemon assumes the same of the next one, which then takes only
one round trip: a statement that writes nothing if the log has moved on. If it has, the commit begins again with the
lock.

Several daemons may write. The round trip that takes the lock also returns what others wrote since the last one. A
transaction about an agent to which others have written was staged over an old state: it is refused, and the call
begins again. To which agents others have written is told before this daemon's own outcomes, so that a follower reads
those events from the log before it gets later ones.

If the connection is lost between COMMIT and its reply, it is unknown whether the transactions were written. The writer
then reconnects and takes the lock: holding it proves that the previous transaction has ended. If its events are in the
log, they were written; if not, they are written now. Callers only notice the delay.

The server may come back with less than it had (:mod:`reeld.store.postgres.runs`). So whoever takes the lock also looks
for the newest event that this daemon knows. If it is gone, nothing is written but the record of the loss, and every
transaction is refused.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any

from reeld.store.commit_faults import FAULTS, InDoubtError, OvertakenError, explain
from reeld.store.connection import Connection, Error
from reeld.store.loss import Forgotten, Known, Loss
from reeld.store.postgres import exclusion, runs
from reeld.store.postgres.commit_draft import CommitDraft, together
from reeld.store.postgres.commit_statement import CommitRows
from reeld.store.postgres.connection import LostError, ServerConnection, ServerError
from reeld.store.postgres.heads import Head, Heads
from reeld.store.postgres.high_water import HighWater
from reeld.store.postgres.runs import LeftOut, Look
from reeld.store.queries import descendants
from reeld.store.transactions import EventWriter, Outcome, Transaction, heads_of, is_about, keys_of, write_profiles

log = logging.getLogger(__name__)

_LOCK = "SELECT newest FROM log FOR UPDATE"
_ADVANCE = "UPDATE log SET newest = %s"
# The agents to which others wrote from an id on, in the order of their newest events.
_MOVED = """
    SELECT e.agent, e.id, e.seq, e.time, coalesce(a.uid, '')
    FROM (SELECT max(id) AS newest FROM events WHERE id >= %s GROUP BY agent) AS moved
    JOIN events e ON e.id = newest LEFT JOIN agents a ON a.id = e.agent
    ORDER BY newest
"""
# Seconds after which a commit without a reply is given up, and between two attempts to reconnect.
_GIVES_UP, _PAUSE = 15.0, 0.1


class ServerEventWriter(EventWriter):
    """Writes events to a server.

    Args:
        connection: the writing connection.
        database: what the log calls the database.
        may_lose: whether a crash of the server may lose commits.
        high_water: remembers the newest event when this daemon is gone.
    """

    _may_leave_out_ids = False  # so that other daemons see no gap

    def __init__(
        self, connection: Connection, database: str, *, may_lose: bool = False, high_water: HighWater | None = None
    ) -> None:
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        super().__init__(connection, database)
        # The number of this daemon, and 0 until it has one.
        self.daemon = 0
        # The agents to which others have written since the rest of the daemon was told of any.
        self._moved: set[int] = set()
        self._high_water = HighWater(None) if high_water is None else high_water
        # The newest event that this daemon knows, and the newest of each agent.
        self.known = self._high_water.known
        self._heads = Heads()
        # A loss that the rest of the daemon has not been told of.
        self._loss: Loss | None = None
        # The ids that were left out as far as this daemon knows, and those of them that are of lost events.
        self._left_out: list[LeftOut] = []
        self._gone: list[LeftOut] = []
        self._may_lose = may_lose
        # How many times the connection had been opened when the server was last looked at.
        self._opened = connection.opened
        self._begin(connection)
        # The draft whose COMMIT was sent, while its outcome is unknown.
        self._sent: CommitDraft | None = None
        # Whether the newest event was this daemon's own at the last check.
        self._is_alone = False

    def take_moved(self) -> frozenset[int]:
        """Return the agents to which other daemons have written since the last call."""
        moved, self._moved = self._moved, set()
        return frozenset(moved)

    def take_loss(self) -> Loss | None:
        """Return a loss that was found out since the last call."""
        loss, self._loss = self._loss, None
        return loss

    def _begin(self, connection: ServerConnection) -> None:
        """Find the end of the log, and find out whether it is shorter than when a daemon of this directory stopped."""
        connection.send("BEGIN")
        (newest,) = connection.send(_LOCK).fetchone() or (0,)
        look = Look(*(runs.ask(connection, self.known).fetchone() or (True, None, "")))
        if not look.is_known:
            self._recover(connection, newest, look)
            return
        if look.is_new:
            newest = runs.begin(connection, newest, self._high_water.id, look)
        known = runs.newest_known(connection)
        connection.send("COMMIT")
        self.known, self.next_id = known, newest + 1

    def close(self) -> None:
        """Remember the end of the log."""
        self._high_water.write(self.known, self.next_id - 1)

    def commit(self, connection: Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each behind a savepoint, so that only the guilty ones fail."""
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        try:
            if all(each.is_look for each in transactions):
                self._look(connection)
                return [[] for _ in transactions]
            self._sent = None
            try:
                return self._try(connection, transactions)
            except FAULTS as error:
                if len(transactions) == 1 or isinstance(error, ServerError | InDoubtError):
                    raise
            return self._try(connection, transactions, singly=True)
        except FAULTS as error:
            self._note(error)
            return [explain(error) for _ in transactions]

    def _look(self, connection: ServerConnection) -> None:
        """Take note of what other daemons wrote since the last check, or of a loss."""
        try:
            is_known, moved = self._ask(connection)
        except LostError:  # before this check began
            is_known, moved = self._ask(connection)
        if is_known:
            self._hear(moved)
        else:
            self._attempt(connection, [], 0.0, singly=False)

    def _ask(self, connection: ServerConnection) -> tuple[bool, list[Any]]:
        """Return whether the newest known event is there, and what others wrote since."""
        with connection.pipeline():
            looked = runs.ask(connection, self.known)
            moved = connection.send(_MOVED, (self.next_id,))
        look = looked.fetchone()
        return look is not None and bool(look[0]), moved.fetchall()

    def _hear(self, moved: list[Any]) -> None:
        """Take note of what others wrote."""
        for row, event, seq, when, uid in moved:
            self._moved.add(row)
            self._heads.note(Head(row, uid, seq, event))
            self.known, self.next_id = Known(event, row, seq, when), event + 1
        self._high_water.reach(self.next_id - 1, self.known)

    def _try(
        self, connection: ServerConnection, transactions: Sequence[Transaction], *, singly: bool = False
    ) -> list[Outcome]:
        """Write transactions; if the connection is lost, on a new one, but never twice.

        Args:
            connection: the writing connection.
            transactions: what is written.
            singly: whether each may fail by itself.

        Raises:
            InDoubtError: it is unknown whether they were written, because the server does not come back.
        """
        gives_up, is_second = 0.0, False
        while True:
            try:
                outcomes = self._attempt_at_once(connection, transactions) if not (gives_up or singly) else None
                if outcomes is None:
                    outcomes = self._attempt(connection, transactions, gives_up, singly=singly)
            except Error as error:
                if self._sent is None:
                    # No COMMIT was sent. The connection may have been lost before this commit began.
                    if is_second or not isinstance(error, LostError):
                        raise
                    is_second = True
                    continue
                if not gives_up:
                    gives_up = time.monotonic() + _GIVES_UP
                    log.warning("the server was lost during a commit; the commit goes on when it is back: %s", error)
                elif time.monotonic() >= gives_up:
                    raise InDoubtError(str(error)) from error
            else:
                if gives_up:
                    log.warning("the server is back, and the commit is %s", "refused" if self._loss else "done")
                return outcomes
            time.sleep(_PAUSE)

    def _attempt_at_once(
        self, connection: ServerConnection, transactions: Sequence[Transaction]
    ) -> list[Outcome] | None:
        """Write transactions in one round trip; return ``None`` if that is impossible or other daemons have written."""
        is_same = connection.is_open() and connection.opened == self._opened
        if not (is_same and self._is_alone and all(map(_has_only_rows, transactions))):
            return None
        draft = self._draft_all(transactions, self.next_id - 1, set())
        self._sent, self._is_alone = draft, False
        try:
            with connection.pipeline() if any(each.milestones for each in transactions) else nullcontext():
                sent = draft.rows.send(connection, str(self.daemon), self.known)
                self._write_more(connection.cursor(), draft.transactions, draft.rows.next_id - 1)
        except LostError:
            raise
        except BaseException:
            self._sent = None  # the server has refused it
            connection.abandon()
            raise
        self._is_alone = bool(sent.rowcount)
        if not self._is_alone:
            self._sent = None
            return None
        return self._outcomes_of(transactions, draft)

    def _attempt(
        self, connection: ServerConnection, transactions: Sequence[Transaction], gives_up: float, *, singly: bool
    ) -> list[Outcome]:
        """Write transactions, unless the previous attempt turns out to have written them.

        Args:
            connection: the writing connection.
            transactions: what is written.
            gives_up: the deadline for finding out about the previous attempt.
            singly: whether each may fail by itself.
        """
        try:
            with connection.pipeline():
                connection.send("BEGIN")
                if self._sent is not None:
                    # The server may not have noticed yet that the previous connection is gone.
                    patience = max(1, int((gives_up - time.monotonic()) * 1000))
                    connection.send(f"SET LOCAL lock_timeout = {patience}")
                if any(transaction.is_probe or transaction.decision for transaction in transactions):
                    # Whatever the durability: a probe proves that the disk responds, and what is erased stays so.
                    connection.send("SET LOCAL synchronous_commit = on")
                locked = connection.send(_LOCK)
                looked = runs.ask(connection, self.known)
                moved = connection.send(_MOVED, (self.next_id,))
            (newest,) = locked.fetchone() or (0,)
            look = Look(*(looked.fetchone() or (True, None, "")))
            if not look.is_known:
                self._sent = None
                self._recover(connection, newest, look)
                return _refusals(transactions)
            if self._sent is not None and self._sent.was_written(connection):
                draft = self._sent
                # Acknowledging it promises that it is on the standbys, too. A commit waits for all earlier ones.
                with connection.pipeline():
                    connection.send(_ADVANCE, (newest,))
                    connection.send("COMMIT")
            else:
                self._sent = None
                self._is_alone = newest < self.next_id
                self._hear(moved.fetchall())
                # Of what a crash has lost, other daemons may have known more.
                if look.is_new or (self._may_lose and connection.opened != self._opened):
                    after = newest
                    newest = runs.begin(connection, newest, self._used, look)
                    self._left_out.append(LeftOut(after, newest))
                draft = self._write_locked(connection, transactions, newest, singly=singly)
        except BaseException:
            with suppress(Error):
                connection.abandon()
            raise
        self._opened = connection.opened
        return self._outcomes_of(transactions, draft)

    @property
    def _used(self) -> int:
        """The largest id that may have been used."""
        return max(self.next_id - 1, self._high_water.id)

    def _recover(self, connection: ServerConnection, newest: int, look: Look) -> None:
        """Record that events are gone, while holding the lock, and forget them."""
        found = runs.note_loss(connection, newest, self._used, self.known, look, self._left_out)
        lost = list(self._heads.after(found.survivor))
        markers = runs.mark(connection, found, lost, self._packer.pack)
        CommitRows(found.newest, markers.next_id, markers.events, [], [], markers.heads).send(
            connection, str(self.daemon)
        )
        known = runs.newest_known(connection)
        connection.send("COMMIT")
        log.error(
            "the database server has lost events that it had acknowledged: %d after event %d, as far as this daemon"
            " knows, of %d agents; commands that were based on them are refused, and the log goes on with event %d",
            *(found.lost, found.survivor, len(lost), found.newest + 1),
        )
        self._loss = Loss(found.survivor, found.lost, runs.agents_of(lost))
        gone = LeftOut(found.survivor, found.first - 1)
        self._gone.append(gone)
        self._left_out.append(gone)
        self._heads.forget(found.survivor)
        self._moved.clear()
        self._is_alone, self._opened = False, connection.opened
        self.known, self.next_id = known, markers.next_id
        self._high_water.write(known, self.next_id)

    def _outcomes_of(self, transactions: Sequence[Transaction], draft: CommitDraft) -> list[Outcome]:
        """Return the outcomes of transactions whose draft was written completely."""
        self._count(draft.rows.events, draft.rows.wide)
        for transaction, firsts in zip(draft.transactions, draft.firsts, strict=True):
            for part, first in zip(transaction.parts, firsts, strict=True):
                newest, row, last = part.events[-1], part.profile.row, first + len(part.events) - 1
                self._heads.note(Head(row, part.profile.uid, newest.seq, last))
                self.known = Known(last, row, newest.seq, newest.time)
        self.next_id = draft.rows.next_id
        written = iter(draft.firsts)
        return [draft.refused.get(place) or next(written) for place in range(len(transactions))]

    def _write_locked(
        self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int, *, singly: bool
    ) -> CommitDraft:
        """Write transactions while holding the lock, and commit."""
        try:
            return (self._write_each if singly else self._write_all)(connection, transactions, newest)
        except LostError:
            raise
        except BaseException:
            self._sent = None  # the server has refused it
            raise

    def _write_all(self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int) -> CommitDraft:
        """Write all or none."""
        draft = self._draft_current(connection, transactions, newest)
        with connection.pipeline():
            self._write_draft(connection, draft)
            self._sent = draft
            connection.send("COMMIT")
        return draft

    def _write_each(
        self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int
    ) -> CommitDraft:
        """Write all but those that fail.

        They share one commit. Between two commits others could write, and what they wrote would be told first, though
        it has larger ids than what the first commit wrote.
        """
        drafts: list[CommitDraft] = []
        refused: dict[int, Outcome] = {}
        next_id = newest + 1
        for place, transaction in enumerate(transactions):
            connection.send("SAVEPOINT before")
            try:
                draft = self._draft_current(connection, [transaction], next_id - 1)
                with connection.pipeline():
                    self._write_draft(connection, draft)
            except ServerError:
                raise
            except FAULTS as error:
                connection.abandon("before")
                refused[place] = explain(error)
            else:
                refused.update((place, outcome) for outcome in draft.refused.values())
                drafts.append(draft)
                next_id = draft.rows.next_id
        self._sent = together(drafts, refused, newest, next_id)
        connection.send("COMMIT")
        return self._sent

    def _write_draft(self, connection: ServerConnection, draft: CommitDraft) -> None:
        """Write everything that a draft has, inside of a transaction of the database's."""
        write_profiles(connection.cursor(), draft.transactions)
        draft.rows.send(connection, str(self.daemon))
        self._write_more(connection.cursor(), draft.transactions, draft.rows.next_id - 1)

    def _draft_current(
        self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int
    ) -> CommitDraft:
        """Return what a commit writes that has the lock."""
        if any(each.decision for each in transactions):
            exclusion.require(connection)
        other = {place for place, each in enumerate(transactions) if _has_other_family(each, connection)}
        return self._draft_all(transactions, newest, other)

    def _draft_all(self, transactions: Sequence[Transaction], newest: int, other: set[int]) -> CommitDraft:
        """Return what a commit writes.

        Args:
            transactions: what is to be written, unless others have changed the agents that it is about.
            newest: the id of the newest event.
            other: the indexes of transactions that are not written either.
        """
        transactions = [self._without_lost_milestones(each) for each in transactions]
        refused = other.union(place for place, each in enumerate(transactions) if is_about(each, self._moved))
        current = [each for place, each in enumerate(transactions) if place not in refused]
        events: list[Any] = []
        wide: list[Any] = []
        firsts, next_id = self._draft(current, newest + 1, events, wide)
        self._high_water.reach(next_id - 1, self.known)
        rows = CommitRows(newest, next_id, events, wide, keys_of(current, self._packer.pack), heads_of(current))
        return CommitDraft(current, firsts, {place: OvertakenError() for place in refused}, rows)

    def _without_lost_milestones(self, transaction: Transaction) -> Transaction:
        """Return a transaction without milestones at events that are gone, which were read before the loss."""
        if not (self._gone and transaction.milestones):
            return transaction
        kept = [
            made for made in transaction.milestones if not any(gone.after < made.id <= gone.last for gone in self._gone)
        ]
        return transaction._replace(milestones=kept)


def _refusals(transactions: Sequence[Transaction]) -> list[Outcome]:
    """Return the outcomes of transactions that were staged before a loss was known."""
    return [[] if each.is_look else Forgotten() for each in transactions]


def _has_only_rows(transaction: Transaction) -> bool:
    """Whether only events, heads and keys are written; milestones may be written separately."""
    has_more = transaction.is_probe or transaction.decision or transaction.family
    return not (has_more or any(part.new or part.changed for part in transaction.parts))


def _has_other_family(transaction: Transaction, connection: ServerConnection) -> bool:
    """Whether a transaction is about a family that has changed."""
    family = transaction.family
    return family is not None and descendants(connection, family.root) != family.clones
