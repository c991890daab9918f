"""A signal wakes the task that waits for it, once, and loses nothing."""

import anyio
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from reel.base.wakeup import Signal
from tests.patience import PATIENCE


async def test_a_waiting_task_is_woken() -> None:
    """A waiting task continues when the signal is set."""
    signal = Signal()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(signal.wait)
            await wait_all_tasks_blocked()
            signal.set()


async def test_set_before_anybody_waits() -> None:
    """A signal that was set before is remembered."""
    signal = Signal()
    signal.set()

    with anyio.fail_after(PATIENCE):
        await signal.wait()


async def test_set_many_times_wakes_once() -> None:
    """However often the signal was set, the second wait blocks."""
    signal, woken = Signal(), list[int]()

    async def wait() -> None:
        for turn in range(2):
            await signal.wait()
            woken.append(turn)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            signal.set()
            signal.set()
            tasks.start_soon(wait)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert [0] == woken


async def test_work_added_while_the_task_works_is_not_lost() -> None:
    """Work that is added between waking and looking is found, and what is added after looking wakes the task again."""
    signal, queue, done = Signal(), list[int](), list[int]()

    async def work() -> None:
        while len(done) < 100:
            await signal.wait()
            await checkpoint()
            while queue:
                done.append(queue.pop(0))
                await checkpoint()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            for number in range(100):
                queue.append(number)
                signal.set()
                await checkpoint()

    assert list(range(100)) == done


async def test_a_cancelled_wait_does_not_reset_it() -> None:
    """A signal that is set while the waiting task is cancelled wakes the next wait."""
    signal = Signal()
    with anyio.CancelScope() as scope:
        scope.cancel()
        signal.set()
        await signal.wait()

    with anyio.fail_after(PATIENCE):
        await signal.wait()
