"""Committing to a server, in two exchanges: one for the ids and the news, one for everything else.

There is one row that says the newest id (``log``). A commit locks it first, and whoever comes second waits until the
first one has committed. So ids have no gaps and follow the order of commits, whichever daemon writes: a reader that has
read up to an id has missed nothing before it.

A daemon to which nobody else has written since its last commit expects the same of the next one, and needs only one
exchange: a statement that writes nothing if the log has moved on. If it has, the commit begins again with the lock.

Several daemons may write. Whoever gets the lock asks with the same exchange what others wrote since its last look, and
writes nothing that was staged over a state older than that: what is about an agent to which others have written is
refused, and the agent does it again over what the log says now. What others wrote is told before the own outcomes, from
the same connection, so that everything is told in the order of ids.

If the connection is lost between COMMIT and its answer, nobody knows whether the transactions were written. The writer
then connects again and takes the lock: whoever has it knows that the transaction before is over. If the events are
there, they were written; if not, they are written now. Whoever waits for them notices only that it takes longer.
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
# Seconds after which a commit without an answer is given up, and between two looks whether the server is there again.
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
        """Return whether the log has the first event; without any event it makes no difference."""
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

    _may_leave_out_ids = False  # others see no gap

    def __init__(self, connection: Connection, database: str, daemon: int) -> None:
        super().__init__(connection, database)
        self._daemon = str(daemon)
        self._others = Others()
        # What was sent to be committed, as long as nobody knows whether it was.
        self._sent: _Draft | None = None
        # Whether the newest event was this daemon's when it looked last.
        self._is_alone = False

    def use(self, is_used: Callable[[int], bool]) -> None:
        """Take a function that says whether an agent is in memory: only what is new of these is read."""
        self._others.is_used = is_used

    def take_elsewhere(self) -> Elsewhere:
        """Return what others have written since the last call."""
        return self._others.take()

    def commit(self, connection: Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each behind a savepoint, so that only the guilty ones fail."""
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        outcomes = self._outcomes(connection, transactions)
        self._others.read(connection)  # only now: others need not wait for it
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
        """Take note of what others wrote since the last look."""
        self.next_id = self._others.look(connection, self.next_id)

    def _try(
        self, connection: ServerConnection, transactions: Sequence[Transaction], *, singly: bool = False
    ) -> list[Outcome]:
        """Write transactions; if the connection is lost, do it on a new one, and do nothing twice.

        Args:
            connection: the writing connection.
            transactions: what is written.
            singly: whether each may fail by itself.

        Raises:
            InDoubtError: nobody knows whether they were written, because the server does not come back.
        """
        gives_up, is_second = 0.0, False
        while True:
            try:
                outcomes = self._attempt_at_once(connection, transactions) if not (gives_up or singly) else None
                if outcomes is None:
                    outcomes = self._attempt(connection, transactions, gives_up, singly=singly)
            except Error as error:
                if self._sent is None:
                    # Nothing of this commit was sent to be committed. The connection may have been lost before it.
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
        """Write transactions with one exchange; return ``None`` if that is not possible, or others have written."""
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
        """Write transactions, unless it is found that they were written by the attempt before.

        Args:
            connection: the writing connection.
            transactions: what is written.
            gives_up: when it is given up to find out about the attempt before.
            singly: whether each may fail by itself.
        """
        try:
            with connection.pipeline():
                connection.send("BEGIN")
                if self._sent is not None:
                    # The server may not have noticed yet that the connection before is gone.
                    patience = max(1, int((gives_up - time.monotonic()) * 1000))
                    connection.send(f"SET LOCAL lock_timeout = {patience}")
                if any(transaction.is_probe for transaction in transactions):
                    # Whatever the durability: the outcome shows that the disk answers.
                    connection.send("SET LOCAL synchronous_commit = on")
                locked = connection.send(_LOCK)
                moved = self._others.ask(connection, self.next_id)
            (newest,) = locked.fetchone() or (0,)
            if self._sent is not None and self._sent.was_written(connection):
                draft = self._sent
                # Who acknowledges it promises that it is on the standbys, too. A commit waits for all before it.
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
        """Return what became of transactions of which everything was written that a draft has."""
        self._count(draft.rows.events, draft.rows.wide)
        self.next_id = draft.rows.next_id
        written = iter(draft.firsts)
        return [draft.refused.get(place) or next(written) for place in range(len(transactions))]

    def _write_locked(
        self, connection: ServerConnection, transactions: Sequence[Transaction], newest: int, *, singly: bool
    ) -> _Draft:
        """Write transactions while this daemon has the lock, and commit."""
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
            transactions: what is to be written, as far as others have not changed what it is about.
            newest: the id of the newest event.
            other: the places of transactions that are not written either.
        """
        moved = self._others.rows
        refused = other.union(place for place, each in enumerate(transactions) if is_about(each, moved))
        current = [each for place, each in enumerate(transactions) if place not in refused]
        events: list[Any] = []
        wide: list[Any] = []
        firsts, next_id = self._draft(current, newest + 1, events, wide)
        rows = Rows(newest, next_id, events, wide, keys_of(current), heads_of(current))
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
    """Whether nothing is written but events, heads and keys; milestones may be written without them."""
    has_more = transaction.is_probe or transaction.decision or transaction.family
    return not (has_more or any(part.new or part.changed for part in transaction.parts))


def _has_other_family(transaction: Transaction, connection: ServerConnection) -> bool:
    """Whether a transaction is about a family that is not what it was."""
    family = transaction.family
    return family is not None and descendants(connection, family.root) != family.clones


def _is_empty(transaction: Transaction) -> bool:
    """Whether there is nothing to write, and nobody wants to know whether the disk answers."""
    return transaction._replace(reads=frozenset()) == Transaction([], [])
