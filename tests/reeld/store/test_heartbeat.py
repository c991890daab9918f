"""The store's sign of life for a watchdog."""

import anyio
from trio.testing import MockClock

from reeld.store.heartbeat import heartbeat
from reeld.store.store import Store
from tests.reeld.store.making import busy


async def test_while_the_file_is_rewritten(store: Store, mock_clock: MockClock) -> None:
    """The rewriting of the file is a sign of life while no commit gets through, for as long as it may take."""
    async with anyio.create_task_group() as tasks:
        async with busy(store):
            tasks.start_soon(store.eraser.clean)
            while not store.eraser.is_rewriting():
                await anyio.lowlevel.checkpoint()
            await heartbeat(store.writer, store.eraser)

            mock_clock.jump(200)
            proved = anyio.Event()
            tasks.start_soon(_prove, store, proved)
            await anyio.wait_all_tasks_blocked()
            assert not proved.is_set()
        await proved.wait()
    await heartbeat(store.writer, store.eraser)
    assert not store.eraser.has_traces


async def test_a_rewriting_that_begins_meanwhile(store: Store, mock_clock: MockClock) -> None:
    """A heartbeat that waits for a commit behind a rewriting notices it."""
    async with anyio.create_task_group() as tasks:
        proved = anyio.Event()
        async with busy(store):
            tasks.start_soon(_prove, store, proved)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(store.eraser.clean)
            while not store.eraser.is_rewriting():
                await anyio.lowlevel.checkpoint()
            mock_clock.jump(1)
            await anyio.wait_all_tasks_blocked()
            assert proved.is_set()


async def _prove(store: Store, proved: anyio.Event) -> None:
    await heartbeat(store.writer, store.eraser)
    proved.set()
