"""The store's sign of life for a watchdog: a commit that reaches the disk, or a rewriting of the file that goes on."""

import anyio

from reeld.store.eraser import Eraser
from reeld.store.writer import Writer

# Seconds between two looks at what holds the writer up. A heartbeat takes milliseconds otherwise, and needs none.
_LOOK_EVERY = 0.5


async def heartbeat(writer: Writer, eraser: Eraser) -> None:
    """Wait until the writer has shown that it is alive.

    While the whole file is rewritten after an erasure, nothing is committed. That is no reason to restart the daemon:
    the next start would rewrite the file again. So the rewriting counts as life, for the time that a slow disk needs.
    """
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            await writer.heartbeat()
            tasks.cancel_scope.cancel()

        tasks.start_soon(ask)
        while not eraser.is_rewriting():  # noqa: ASYNC110 - no event says that a rewriting begins
            await anyio.sleep(_LOOK_EVERY)
        tasks.cancel_scope.cancel()
