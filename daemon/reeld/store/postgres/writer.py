"""Committing to a server, in two exchanges: one for the ids, one for everything else.

There is one row that says the newest id (``log``). A commit changes it first, and whoever comes second waits until the
first one has committed. So ids are in the order of commits and without a gap, whoever writes: who reads up to an id has
seen all that there is up to it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reeld.store.connection import Connection
from reeld.store.postgres.connection import LostError, ServerConnection, ServerError
from reeld.store.transactions import FAULTS, EventWriter, InDoubtError, Outcome, Transaction, explain

_TAKE_IDS = "UPDATE log SET newest = newest + %s RETURNING newest"


class ServerEventWriter(EventWriter):
    """Writes events to a server."""

    _may_leave_out_ids = False  # the ids are taken before, as many as there are events

    def commit(self, connection: Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each by itself, so that only the guilty one fails."""
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        try:
            return list(self._try(connection, transactions))
        except FAULTS as error:
            if len(transactions) == 1 or isinstance(error, ServerError | InDoubtError):
                self._note(error)
                return [explain(error) for _ in transactions]
        return [self.commit(connection, [transaction])[0] for transaction in transactions]

    def _try(self, connection: ServerConnection, transactions: Sequence[Transaction]) -> list[list[int]]:
        values: list[Any] = []
        wide: list[Any] = []
        events = sum(len(part.events) for transaction in transactions for part in transaction.parts)
        is_probe = any(transaction.is_probe for transaction in transactions)
        is_sent = False
        try:
            with connection.pipeline():
                connection.send("BEGIN")
                if is_probe:  # whatever the durability: the outcome shows that the disk answers
                    connection.send("SET LOCAL synchronous_commit = on")
                taken = connection.send(_TAKE_IDS, (events,))
            (newest,) = taken.fetchone() or (0,)
            firsts, next_id = self._draft(transactions, newest - events + 1, values, wide)
            with connection.pipeline():
                self._write(connection.cursor(), transactions, values, wide, newest)
                is_sent = True
                connection.send("COMMIT")
        except BaseException as error:
            with suppress(LostError):
                connection.abandon()
            if is_sent and isinstance(error, LostError):
                raise InDoubtError(str(error)) from error
            raise
        self._count(values, wide)
        self.next_id = next_id
        return firsts
