"""Whether a peer that sends nothing more still reads, or has closed its end altogether.

Both look alike to a reader: the end of the stream. The kernel tells them apart, but only to those who ask: POLLHUP
is reported for a closed end, and not for one that is shut down for writing.
"""

import select

import anyio
from anyio.abc import ByteStream, SocketAttribute

# Seconds between two looks; only at peers that have closed at least one direction.
_PAUSE = 1.0


async def until_closed(stream: ByteStream) -> None:
    """Wait until the peer has closed its end altogether; for ever on a stream that is not a socket."""
    raw = stream.extra(SocketAttribute.raw_socket, None)
    if raw is None:
        await anyio.sleep_forever()
    else:
        poll = select.poll()
        poll.register(raw, 0)  # POLLHUP is reported whether one asks for it or not
        while not poll.poll(0):  # noqa: ASYNC110 - a half-closed socket is readable for ever, so it cannot be awaited
            await anyio.sleep(_PAUSE)
