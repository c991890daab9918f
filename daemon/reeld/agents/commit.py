"""Commits a transaction on behalf of a task that waits for it."""

from collections.abc import Callable

import anyio

from reeld.store.store import Store
from reeld.store.transactions import Outcome, Transaction


async def commit(store: Store, transaction: Transaction, on_commit: Callable[[list[int]], None]) -> None:
    """Commit a transaction and wait for it.

    The wait is shielded: the transaction is written whether its caller is cancelled or not, so the caller must
    learn of it.

    Args:
        store: where it is written.
        transaction: what is written.
        on_commit: called with the id of the first event of each part, before any later commit is published.

    Raises:
        ReelError: it was not written.
        DivergedError: it was not written, because it was staged over a state that differs from the log.
    """
    settled = anyio.Event()
    failures: list[Exception] = []

    def settle(outcome: Outcome) -> None:
        try:
            if isinstance(outcome, Exception):
                failures.append(outcome)
            else:
                on_commit(outcome)
        except Exception as bug:
            failures.append(bug)
        settled.set()

    store.submit(transaction, settle)
    with anyio.CancelScope(shield=True):
        await settled.wait()
    for failure in failures:
        raise failure
