"""Commands that write many rows: the expensive part runs in a thread, so that the event loop stays responsive.

Rows are staged, and the values of their events are built, before the transaction is queued. The writing connection's
thread, for which all commands wait, only has to bind the values.
"""

from collections.abc import Callable
from typing import TypeVar

import anyio

from reel.wire.msgpack_codec import packer
from reeld.core.stage import Reply, Stage
from reeld.store.store import Store
from reeld.store.transactions import Transaction, prepared, spared

T = TypeVar("T")
# From this many rows on: each takes 3 us, and the round trip to a thread takes 200 us.
_MANY = 1000


def are_many(rows: int) -> bool:
    """Return whether there are so many rows or events that what is done with each should not hold up the event loop."""
    return rows >= _MANY


async def run(rows: int, use_rows: Callable[[], T]) -> T:
    """Run a function of so many rows, and return its result; nothing that it reads may change meanwhile."""
    return await anyio.to_thread.run_sync(use_rows) if are_many(rows) else use_rows()


async def put(stage: Stage, rows: int, put_rows: Callable[[], Reply]) -> Reply:
    """Run a function that puts rows on a stage, and return its result; nothing that it reads may change meanwhile."""
    if are_many(rows):
        stage.pack = packer()  # each thread needs its own
    return await run(rows, put_rows)


async def prepare(store: Store, transaction: Transaction) -> Transaction:
    """Return a transaction with prebuilt values of its events.

    In a file, some ids are left to what others write meanwhile. If they write more, the values are built again at the
    commit.
    """
    first = store.writer.newest + 1 + (0 if store.is_shared else spared(transaction))
    return await anyio.to_thread.run_sync(prepared, transaction, first)
