"""Commands that write many rows: what takes long is done in a thread, while others go on.

A row is staged, and the values of its event are made, before the transaction is queued. The thread of the writing
connection, for which everybody waits, only has to bind them.
"""

from collections.abc import Callable, Sequence

import anyio

from reel.msgpack_codec import packer
from reeld.core.commands import Reply, Stage
from reeld.core.validation import CheckedRow
from reeld.store.store import Store
from reeld.store.transactions import Transaction, prepared

# So many rows: each takes 3 us, and to go to a thread and back 200 us.
_MANY = 1000
# Ids that others may be given while the values of events are made.
_SPARED = 1 << 16


def are_many(rows: Sequence[CheckedRow]) -> bool:
    """Return whether there are enough rows to stage them in a thread; the caller must be able to wait."""
    return len(rows) >= _MANY


async def put(stage: Stage, rows: Sequence[CheckedRow], put_rows: Callable[[], Reply]) -> Reply:
    """Return what a function returns that puts rows on a stage; nothing that it reads may change meanwhile."""
    if not are_many(rows):
        return put_rows()
    stage.pack = packer()  # each thread needs its own
    return await anyio.to_thread.run_sync(put_rows)


async def prepare(store: Store, transaction: Transaction) -> Transaction:
    """Return a transaction with the values of its events, if they are many."""
    if sum(len(part.events) for part in transaction.parts) < _MANY:
        return transaction
    return await anyio.to_thread.run_sync(prepared, transaction, store.writer.newest + _SPARED)
