"""The ends of a pipe."""

import os
from collections.abc import Iterator

import anyio
import pytest

from reel.mcp.protocol.stdio import write_all
from tests.patience import PATIENCE


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The reading and the writing end of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


async def test_a_pipe_that_nobody_reads(pipe: tuple[int, int]) -> None:
    """A write that waits for room can be cancelled, so that the end of the client is the end."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_all, pipe[1], b"x" * (1 << 20))
            await anyio.wait_readable(pipe[0])
            tasks.cancel_scope.cancel()

    assert tasks.cancel_scope.cancelled_caught


@pytest.mark.parametrize("blocking", [True, False])
async def test_all_is_written(pipe: tuple[int, int], blocking: bool) -> None:
    """More than a pipe holds arrives whole, also where others have made the pipe one that does not block."""
    os.set_blocking(pipe[1], blocking)
    data, got = os.urandom(1 << 18), b""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_all, pipe[1], data)
            while len(got) < len(data):
                await anyio.wait_readable(pipe[0])
                got += os.read(pipe[0], 1 << 16)

    assert data == got
