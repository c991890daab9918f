"""The two ends of a pipe: what arrives on stdin, and what is written to stdout."""

import os
from collections.abc import AsyncIterator

import anyio

from reel.mcp.protocol.frames import Lines

_CHUNK = 1 << 16


async def lines_from(descriptor: int) -> AsyncIterator[bytes]:
    """Yield the lines that arrive, until the other end is closed."""
    lines = Lines()
    while data := await _read(descriptor):
        for line in lines.feed(data):
            yield line
    for line in lines.end():
        yield line


async def _read(descriptor: int) -> bytes:
    try:
        await anyio.wait_readable(descriptor)
    except PermissionError:  # a regular file can be read at any time, and no loop can watch it
        await anyio.lowlevel.checkpoint()
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:  # a terminal that is gone
        return b""


async def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, without keeping anybody else from running.

    Raises:
        OSError: nobody reads any more, or it is a file without room.
    """
    # In a thread: if the pipe were not to block, it would not block for those who share it either.
    await anyio.to_thread.run_sync(_write, descriptor, data)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
