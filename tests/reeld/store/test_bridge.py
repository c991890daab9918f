"""The bridge between two event loops: calls, results, errors, cancellation."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
import trio

from reeld.poller import open_poller
from reeld.store.bridge import AsyncioBridge, open_bridge
from tests.patience import PATIENCE


@pytest.fixture
async def bridge() -> AsyncIterator[AsyncioBridge]:
    """An open bridge, with a time limit."""
    with anyio.fail_after(PATIENCE):
        async with open_bridge() as opened:
            yield opened


async def double(number: int, *, plus: int = 0) -> int:
    """Return a value after a pause on an asyncio loop."""
    await asyncio.sleep(0)
    return 2 * number + plus


async def test_a_result_comes_back(bridge: AsyncioBridge) -> None:
    """A call returns what the function returned on its own loop."""
    assert 43 == await bridge.call(double, 21, plus=1)


async def test_an_error_comes_back(bridge: AsyncioBridge) -> None:
    """A call raises what the function raised."""

    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await bridge.call(fail)


async def test_a_cancellation_on_the_other_side_comes_back(bridge: AsyncioBridge) -> None:
    """If the task is cancelled on the other loop, its caller does not wait for ever."""

    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await bridge.call(give_up)


async def test_many_calls_at_once(bridge: AsyncioBridge) -> None:
    """Each of many calls gets its own answer."""
    answers = {}

    async def ask(number: int) -> None:
        answers[number] = await bridge.call(double, number)

    async with anyio.create_task_group() as tasks:
        for number in range(1000):
            tasks.start_soon(ask, number)

    assert {number: 2 * number for number in range(1000)} == answers


async def test_a_call_does_not_block_the_loop(bridge: AsyncioBridge) -> None:
    """Other tasks run while a call waits."""
    gate = asyncio.Event()
    done = []

    async def opened() -> str:
        await gate.wait()
        return "open"

    async def wait() -> None:
        done.append(await bridge.call(opened))

    async def open_gate() -> None:
        gate.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await bridge.call(double, 1)
        await bridge.call(open_gate)

    assert ["open"] == done


async def test_a_cancelled_caller_abandons_the_answer_and_not_the_work(bridge: AsyncioBridge) -> None:
    """The work of a cancelled caller is finished."""
    begun, done = anyio.Event(), anyio.Event()
    token = trio.lowlevel.current_trio_token()
    gate = asyncio.Event()

    async def work() -> None:
        token.run_sync_soon(begun.set)
        await gate.wait()
        token.run_sync_soon(done.set)

    async def go_on() -> None:
        gate.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bridge.call, work)
            await begun.wait()
            tasks.cancel_scope.cancel()
        await bridge.call(go_on)
        await done.wait()


async def test_the_thread_ends_with_the_block() -> None:
    """When the block ends, the other loop has ended too."""
    with anyio.fail_after(PATIENCE):
        async with open_bridge() as bridge:
            loop = bridge._loop
            assert loop.is_running()

        assert loop.is_closed()


def test_an_answer_for_nobody_is_dropped() -> None:
    """Work that ends after the caller's loop does no harm."""
    loop, gate = asyncio.new_event_loop(), threading.Event()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def work() -> None:
        gate.wait(PATIENCE)  # until the caller's loop has ended

    async def leave() -> None:
        async with open_poller() as poller:
            with anyio.move_on_after(0):
                await AsyncioBridge(loop, poller).call(work)

    trio.run(leave)
    gate.set()
    asyncio.run_coroutine_threadsafe(double(1), loop).result(PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(PATIENCE)
    loop.close()
    gc.collect()

    assert [] == complaints
