"""The two ends of a pipe: what arrives on stdin, and what is written to stdout."""

import os
import select
from collections.abc import AsyncIterator

import anyio

from reel.mcp.protocol.frames import Lines

_CHUNK = 1 << 16
# A pipe that has room at all has room for so much. The pipe stays one that blocks, because others may share it; and a
# thread that waits for room could not be cancelled.
_PIECE = select.PIPE_BUF


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
    view = memoryview(data)
    while view:
        await _writable(descriptor)
        try:
            view = view[os.write(descriptor, view[:_PIECE]) :]
        except BlockingIOError:  # somebody else who has the pipe took the room
            continue


async def _writable(descriptor: int) -> None:
    try:
        await anyio.wait_writable(descriptor)
    except PermissionError:  # a regular file
        await anyio.lowlevel.checkpoint()
