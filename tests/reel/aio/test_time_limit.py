"""The time limit of the async client's calls."""

import pytest
import trio
from trio.testing import MockClock

import reel
from reel.aio.time_limit import TimeLimit


async def test_what_takes_longer_than_its_limit(
    autojump_clock: MockClock,  # noqa: ARG001 - pytest-trio takes a clock from a test's own parameters
) -> None:
    """What takes longer is cancelled, and the error says what it was, the limit, and what may follow from it."""
    limit = TimeLimit(1.5)
    expected = pytest.raises(reel.Timeout, match=r"^timeout: add took longer than 1.5 s; who knows$")
    with expected as caught, limit.within("add took longer than", "; who knows"):
        await trio.sleep(2)

    assert 1.5 == caught.value.data["seconds"]


async def test_no_time_passes_while_a_daemon_is_started(
    autojump_clock: MockClock,  # noqa: ARG001 - pytest-trio takes a clock from a test's own parameters
) -> None:
    """The start of a daemon does not count, neither for calls that wait for it nor for those that begin meanwhile."""
    limit = TimeLimit(1)

    async def take(seconds: float) -> None:
        with limit.within("this took longer than"):
            await trio.sleep(seconds)

    async with trio.open_nursery() as tasks:
        tasks.start_soon(take, 10.5)
        await trio.sleep(0.9)
        with limit.paused():
            tasks.start_soon(take, 9.9)
            await trio.sleep(9)
    with pytest.raises(reel.Timeout):
        await take(2)


async def test_no_limit(
    autojump_clock: MockClock,  # noqa: ARG001 - pytest-trio takes a clock from a test's own parameters
) -> None:
    """Without a limit, a call may take any time."""
    with TimeLimit(None).within("this took longer than"):
        await trio.sleep(80_000)
