"""What a commit to a server writes, before its outcome is known."""

from collections.abc import Mapping

from reel.base.light_typing import NamedTuple
from reeld.store.checksums import COLUMNS, EVENT_COLUMNS, ORIGIN
from reeld.store.erasures import STAGED
from reeld.store.postgres.commit_statement import CommitRows
from reeld.store.postgres.connection import ServerConnection
from reeld.store.transactions import Outcome, Transaction

_EVENT = f"SELECT {EVENT_COLUMNS} FROM events e WHERE e.id = %s"
_DECIDED = "SELECT FROM erasures WHERE id = %s AND state <> %s"
# How many values an event has, and one with an origin.
_WIDTH, _WIDE = len(COLUMNS) + 1, len(COLUMNS) + len(ORIGIN) + 1


class CommitDraft(NamedTuple):
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
    rows: CommitRows

    def was_written(self, connection: ServerConnection) -> bool:
        """Return whether the log has the decision or the first event; without both it makes no difference."""
        for erasure in (each.decision.erasure for each in self.transactions if each.decision is not None):
            return connection.send(_DECIDED, (erasure, STAGED)).fetchone() is not None
        *event, checksum = self.rows.events[:_WIDTH] or self.rows.wide[:_WIDE] or [None]
        event += [None] * (_WIDE - 1 - len(event))
        return connection.send(_EVENT, (event[0],)).fetchone() == (*event, checksum)


def together(drafts: list[CommitDraft], refused: dict[int, Outcome], newest: int, next_id: int) -> CommitDraft:
    """Return what several drafts write one after the other."""
    rows = CommitRows(newest, next_id, [], [], [], [])
    together = CommitDraft([], [], refused, rows)
    for draft in drafts:
        together.transactions.extend(draft.transactions)
        together.firsts.extend(draft.firsts)
        rows.events.extend(draft.rows.events)
        rows.wide.extend(draft.rows.wide)
    return together
