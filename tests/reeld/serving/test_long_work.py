"""Long computations do not keep other tasks waiting."""

import anyio
import pytest

from reeld.serving.long_work import LongWork
from tests.patience import PATIENCE


async def test_work_in_a_thread_returns_or_raises() -> None:
    """Work in a thread returns its result, or raises its error."""

    def fail() -> None:
        raise ValueError("no")

    assert 3 == await LongWork().in_thread(lambda: 3)
    with pytest.raises(ValueError, match=r"^no$"):
        await LongWork().in_thread(fail)


async def test_others_run_between_two_computations() -> None:
    """Computations that wait for their turn share no turn of the event loop."""
    work, ran, done = LongWork(), list[str](), list[int]()

    async def compute(number: int) -> None:
        done.append(await work.in_turn(lambda: ran.append("work") or number))  # type: ignore[func-returns-value]

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(compute, number)
            while len(done) < 5:
                ran.append("others")
                await anyio.lowlevel.checkpoint()

    assert [0, 1, 2, 3, 4] == sorted(done)
    # In one turn everybody runs in any order, so others need not be right between two computations.
    first, last = ran.index("work"), len(ran) - ran[::-1].index("work")
    assert ran[first:last].count("others") >= 3


async def test_a_computation_that_fails_ends_its_turn() -> None:
    """Its error is raised, and the next one runs."""
    work = LongWork()

    def fail() -> None:
        raise ValueError("no")

    with anyio.fail_after(PATIENCE), pytest.raises(ValueError, match=r"^no$"):
        await work.in_turn(fail)

    assert 3 == await work.in_turn(lambda: 3)
