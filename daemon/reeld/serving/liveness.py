"""Whether anybody is at the other end: who will send no more may still read, and who has closed does not.

Both look alike to a reader. The system tells them apart, but only when it is asked.
"""

import select

import anyio
from anyio.abc import ByteStream, SocketAttribute

# Seconds between two looks; only at peers that have closed at least one direction.
_PAUSE = 1.0


async def until_closed(stream: ByteStream) -> None:
    """Wait until the peer has closed its end altogether; of a stream that is no socket nobody can tell."""
    raw = stream.extra(SocketAttribute.raw_socket, None)
    if raw is None:
        await anyio.sleep_forever()
    else:
        poll = select.poll()
        poll.register(raw, 0)  # an end that is closed is told unasked
        while not poll.poll(0):  # noqa: ASYNC110 - who has closed for writing is readable for ever
            await anyio.sleep(_PAUSE)
