"""The outcome that one task waits for."""

import gc
from weakref import ref

import anyio
import pytest

from reeld.answer import Answer
from tests.patience import PATIENCE


@pytest.mark.parametrize("waits", [True, False])
async def test_a_result(waits: bool) -> None:
    """Whoever waits gets the result, whether it comes before or after that."""
    answer: Answer[int] = Answer()
    got: list[int] = []

    async def wait() -> None:
        got.append(await answer.wait())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            if waits:
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
            answer.take(7)
            if not waits:
                tasks.start_soon(wait)

    assert [7] == got


async def test_an_error_is_raised_and_not_kept() -> None:
    """An error is raised, and no cycle keeps it in memory."""

    class OwnError(Exception):
        """An error that can be referred to weakly."""

    async def fail() -> None:
        answer: Answer[int] = Answer()
        answer.take(OwnError())
        await answer.wait()

    gc.disable()
    try:
        with pytest.raises(OwnError) as raised:
            await fail()
        known = ref(raised.value)
        del raised

        assert known() is None
    finally:
        gc.enable()
