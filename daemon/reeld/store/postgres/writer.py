"""Committing to a server, in two exchanges: one for the ids, one for everything else.

There is one row that says the newest id (``log``). A commit locks it first, and whoever comes second waits until the
first one has committed. So ids have no gaps and follow the order of commits, whichever daemon writes: a reader that has
read up to an id has missed nothing before it.

Several daemons may write. Whoever has the lock sees first what others wrote since its last look, and writes nothing
that was staged over a state older than that: what is about an agent to which others have written is refused, and the
agent does it again over what the log says now. What others wrote is told before the own outcomes, from the same
connection, so that everything is told in the order of ids.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reeld.store.connection import Connection
from reeld.store.postgres.connection import LostError, ServerConnection, ServerError
from reeld.store.transactions import (
    FAULTS,
    DivergedError,
    EventWriter,
    InDoubtError,
    Outcome,
    Transaction,
    explain,
)

# The channel on which a commit wakes the other daemons, which read in the log what there is.
CHANNEL = "reel"
_LOCK = "SELECT newest FROM log FOR UPDATE"
_ADVANCE = "UPDATE log SET newest = %s"
_NOTIFY = f"SELECT pg_notify('{CHANNEL}', %s)"
_OTHERS = "SELECT agent, max(id) FROM events WHERE id >= %s GROUP BY agent"


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
        # The agents to which others have written, which nobody was told yet.
        self._elsewhere: set[int] = set()

    def take_elsewhere(self) -> frozenset[int]:
        """Return the agents to which others have written since the last call."""
        elsewhere, self._elsewhere = frozenset(self._elsewhere), set()
        return elsewhere

    def commit(self, connection: Connection, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Write transactions together; if that fails, each by itself, so that only the guilty one fails."""
        assert isinstance(connection, ServerConnection)  # noqa: S101 - it was opened with this writer
        try:
            if all(map(_is_empty, transactions)):
                self._look(connection)
                return [[] for _ in transactions]
            return self._try(connection, transactions)
        except FAULTS as error:
            if len(transactions) == 1 or isinstance(error, ServerError | InDoubtError):
                self._note(error)
                return [explain(error) for _ in transactions]
        return [self.commit(connection, [transaction])[0] for transaction in transactions]

    def _look(self, connection: ServerConnection) -> set[int]:
        """Take note of what others wrote; return the agents to which they wrote since the last look."""
        moved = connection.send_query(_OTHERS, (self.next_id,)).fetchall()
        self.next_id = max((self.next_id, *(newest + 1 for _, newest in moved)))
        rows = {row for row, _ in moved}
        self._elsewhere |= rows
        return rows

    def _try(
        self, connection: ServerConnection, transactions: Sequence[Transaction], *, is_second: bool = False
    ) -> list[Outcome]:
        values: list[Any] = []
        wide: list[Any] = []
        is_sent = False
        try:
            with connection.pipeline():
                connection.send("BEGIN")
                if any(transaction.is_probe for transaction in transactions):
                    # Whatever the durability: the outcome shows that the disk answers.
                    connection.send("SET LOCAL synchronous_commit = on")
                locked = connection.send(_LOCK)
            (newest,) = locked.fetchone() or (0,)
            moved = self._look(connection) if newest >= self.next_id else set()
            current = [transaction for transaction in transactions if not _is_about(transaction, moved)]
            firsts, next_id = self._draft(current, newest + 1, values, wide)
            with connection.pipeline():
                connection.send(_ADVANCE, (next_id - 1,))
                self._write(connection.cursor(), current, values, wide, next_id - 1)
                if next_id > newest + 1:
                    connection.send(_NOTIFY, (self._daemon,))
                is_sent = True
                connection.send("COMMIT")
        except BaseException as error:
            with suppress(LostError):
                connection.abandon()
            if not isinstance(error, LostError):
                raise
            if is_sent:
                raise InDoubtError(str(error)) from error
            if is_second:
                raise
            # The connection was lost since the last commit, and nothing of this one was sent to be committed.
            return self._try(connection, transactions, is_second=True)
        self._count(values, wide)
        self.next_id = next_id
        written = iter(firsts)
        return [DivergedError() if _is_about(each, moved) else next(written) for each in transactions]


def _is_empty(transaction: Transaction) -> bool:
    """Whether there is nothing to write, and nobody wants to know whether the disk answers."""
    return transaction == Transaction([], [])


def _is_about(transaction: Transaction, rows: set[int]) -> bool:
    """Whether events of one of these agents are written: others have moved it, and know nothing of a new one."""
    return bool(rows) and any(part.profile.row in rows for part in transaction.parts)
