"""Commits to a server in two round trips: one for ids and news of other daemons, one for everything else.

A single row has the newest id (``log``). A commit locks it first, and a concurrent one waits until the first has
committed. So ids have no gaps and follow the order of commits, whichever daemon writes: a reader that has read up to an
id has missed nothing before it.

If no other daemon has written since its last commit, a daemon assumes the same of the next one, which then takes only
one round trip: a statement that writes nothing if the log has moved on. If it has, the commit begins again with the
lock.

Several daemons may write. The round trip that takes the lock also returns what others wrote since the last one. A
transaction about an agent to which others have written was staged over an old state: it is refused, and the agent
stages it again over the current one. What others wrote is delivered before this daemon's own outcomes, from the same
connection, so that everything is delivered in the order of ids.

If the connection is lost between COMMIT and its reply, it is unknown whether the transactions were written. The writer
then reconnects and takes the lock: holding it proves that the previous transaction has ended. If its events are in the
log, they were written; if not, they are written now. Callers only notice the delay.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple

from reeld.store.checksums import COLUMNS, EVENT_COLUMNS, ORIGIN
from reeld.store.connection import Connection, Error
from reeld.store.elsewhere import Elsewhere
from reeld.store.postgres.commit_statement import Rows
from reeld.store.postgres.connection import LostError, ServerConnection, ServerError
from reeld.store.postgres.others import Others
from reeld.store.queries import descendants
from reeld.store.transactions import (
    FAULTS,
    DivergedError,
    EventWriter,
    InDoubtError,
    Outcome,
    Transaction,
    explain,
    heads_of,
    is_about,
    keys_of,
    write_profiles,
)

log = logging.getLogger(__name__)

_LOCK = "SELECT newest FROM log FOR UPDATE"
_ADVANCE = "UPDATE log SET newest = %s"
_EVENT = f"SELECT {EVENT_COLUMNS} FROM events e WHERE e.id = %s"
# How many values an event has, and one with an origin.
_WIDTH, _WIDE = len(COLUMNS) + 1, len(COLUMNS) + len(ORIGIN) + 1
# Seconds after which a commit without a reply is given up, and between two attempts to reconnect.
_GIVES_UP, _PAUSE = 15.0, 0.1


class _Draft(NamedTuple):
    """What a commit writes.

    Args:
        transactions: those that it writes.
        firsts: the ids of the first events of each of them.
        refused: by their places, why the others are not written.
        rows: the events, heads and keys.
    """

    transactions: list[Transaction]
    firsts: list[list[int]]
    refused: Mapping[int, Outcome]
    rows: Rows

    def was_written(self, connection: ServerConnection) -> bool:
        """Return whether the log has the first event; without events it makes no difference."""
        *event, checksum = self.rows.events[:_WIDTH] or self.rows.wide[:_WIDE] or [None]
        event += [None] * (_WIDE - 1 - len(event))
        return connection.send(_EVENT, (event[0],)).fetchone() == (*event, checksum)


class ServerEventWriter(EventWriter):
    """Writes events to a server.

    Args:
        connection: the writing connection.
        database: what the log calls the database.
        daemon: the number of this daemon.
    """

    _may_leave_out_ids = False  # so that other daemons see no gap

    def __init__(self, connection: Connection, database: str, daemon: int) -> None:
        super().__init__(connection, database)
        self._daemon = str(daemon)
        self._others = Others()
        # The draft whose COMMIT was sent, while its outcome is unknown.
        self._sent: _Draft | None = None
        # Whether the newest event was this daemon's own at the last check.
        self._is_alone = False

    def use(self, is_used: Callable[[int], bool]) -> None:
        """Set the function that returns whether an agent is in memory: only new events of such agents are read."""
        self._others.is_used = is_used

    def take_elsewhere(self) -> Elsewhere:
        """Return what other daemons have written since the last call."""
        return self._others.take()

    def commit(self, connection: Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each behind a savepoint, so that only the guilty ones fail."""
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        outcomes = self._outcomes(connection, transactions)
        self._others.read(connection)  # only now, so that other daemons need not wait for it
        return outcomes

    def _outcomes(self, connection: ServerConnection, transactions: Sequence[Transaction]) -> list[Outcome]:
        try:
            if all(map(_is_empty, transactions)):
                self._look(connection)
                return [DivergedError() if is_about(each, self._others.rows) else [] for each in transactions]
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
        """Take note of what other daemons wrote since the last check."""
        self.next_id = self._others.look(connection, self.next_id)

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
                    log.warning("the server is back, and the commit is done")
                return outcomes
            time.sleep(_PAUSE)

    def _attempt_at_once(
        self, connection: ServerConnection, transactions: Sequence[Transaction]
    ) -> list[Outcome] | None:
        """Write transactions in one round trip; return ``None`` if that is impossible or other daemons have written."""
        if not (self._is_alone and all(map(_has_only_rows, transactions)) and connection.is_open()):
            return None
        draft = self._draft_all(transactions, self.next_id - 1, set())
        self._sent, self._is_alone = draft, False
        try:
            with connection.pipeline() if any(each.milestones for each in transactions) else nullcontext():
                sent = draft.rows.send(connection, self._daemon)
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
                if any(transaction.is_probe for transaction in transactions):
                    # Whatever the durability: the outcome proves that the disk responds.
                    connection.send("SET LOCAL synchronous_commit = on")
                locked = connection.send(_LOCK)
                moved = self._others.ask(connection, self.next_id)
            (newest,) = locked.fetchone() or (0,)
            if self._sent is not None and self._sent.was_written(connection):
                draft = self._sent
                # Acknowledging it promises that it is on the standbys, too. A commit waits for all earlier ones.
                with connection.pipeline():
                    connection.send(_ADVANCE, (newest,))
                    connection.send("COMMIT")
            else:
                self._sent = None
                self._is_alone = newest < self.next_id
                self.next_id = self._others.note(moved.fetchall(), self.next_id)
                draft = self._write_locked(connection, transactions, newest, singly=singly)
        except BaseException:
            with suppress(Error):
                connection.abandon()
            raise
        return self._outcomes_of(transactions, draft)

    def _outcomes_of(self, transactions: Sequence[Transaction], draft: _Draft) -> list[Outcome]:
        """Return the outcomes of transactions whose draft was written completely."""
        self._count(draft.rows.events, draft.rows.wide)
        self.next_id = draft.rows.next_id
        written = iter(draft.firsts)
        return [draft.refused.get(place) or next(written) for place in range(len(transactions))]

    def _write_locked(
        self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int, *, singly: bool
    ) -> _Draft:
        """Write transactions while holding the lock, and commit."""
        try:
            return (self._write_each if singly else self._write_all)(connection, transactions, newest)
        except LostError:
            raise
        except BaseException:
            self._sent = None  # the server has refused it
            raise

    def _write_all(self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int) -> _Draft:
        """Write all or none."""
        draft = self._draft_current(connection, transactions, newest)
        with connection.pipeline():
            self._write_draft(connection, draft)
            self._sent = draft
            connection.send("COMMIT")
        return draft

    def _write_each(self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int) -> _Draft:
        """Write all but those that fail.

        They share one commit. Between two commits others could write, and what they wrote would be told first, though
        it has larger ids than what the first commit wrote.
        """
        drafts: list[_Draft] = []
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
        self._sent = _together(drafts, refused, newest, next_id)
        connection.send("COMMIT")
        return self._sent

    def _write_draft(self, connection: ServerConnection, draft: _Draft) -> None:
        """Write everything that a draft has, inside of a transaction of the database's."""
        write_profiles(connection.cursor(), draft.transactions)
        draft.rows.send(connection, self._daemon)
        self._write_more(connection.cursor(), draft.transactions, draft.rows.next_id - 1)

    def _draft_current(self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int) -> _Draft:
        """Return what a commit writes that has the lock."""
        other = {place for place, each in enumerate(transactions) if _has_other_family(each, connection)}
        return self._draft_all(transactions, newest, other)

    def _draft_all(self, transactions: Sequence[Transaction], newest: int, other: set[int]) -> _Draft:
        """Return what a commit writes.

        Args:
            transactions: what is to be written, unless others have changed the agents that it is about.
            newest: the id of the newest event.
            other: the indexes of transactions that are not written either.
        """
        moved = self._others.rows
        refused = other.union(place for place, each in enumerate(transactions) if is_about(each, moved))
        current = [each for place, each in enumerate(transactions) if place not in refused]
        events: list[Any] = []
        wide: list[Any] = []
        firsts, next_id = self._draft(current, newest + 1, events, wide)
        rows = Rows(newest, next_id, events, wide, keys_of(current, self._packer.pack), heads_of(current))
        return _Draft(current, firsts, {place: DivergedError() for place in refused}, rows)


def _together(drafts: list[_Draft], refused: dict[int, Outcome], newest: int, next_id: int) -> _Draft:
    """Return what several drafts write one after the other."""
    rows = Rows(newest, next_id, [], [], [], [])
    together = _Draft([], [], refused, rows)
    for draft in drafts:
        together.transactions.extend(draft.transactions)
        together.firsts.extend(draft.firsts)
        rows.events.extend(draft.rows.events)
        rows.wide.extend(draft.rows.wide)
    return together


def _has_only_rows(transaction: Transaction) -> bool:
    """Whether only events, heads and keys are written; milestones may be written separately."""
    has_more = transaction.is_probe or transaction.decision or transaction.family
    return not (has_more or any(part.new or part.changed for part in transaction.parts))


def _has_other_family(transaction: Transaction, connection: ServerConnection) -> bool:
    """Whether a transaction is about a family that has changed."""
    family = transaction.family
    return family is not None and descendants(connection, family.root) != family.clones


def _is_empty(transaction: Transaction) -> bool:
    """Whether there is nothing to write, and no heartbeat that waits for the disk."""
    return transaction._replace(reads=frozenset()) == Transaction([], [])
