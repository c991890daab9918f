"""The order of replies for a Neovim below 0.10.

It keeps its open calls on a stack and closes the channel when a reply is not for the newest of them. It is also
slow to take a call off its stack, so that the next reply must not come at once.
"""

from collections.abc import Awaitable, Callable

import anyio

from reeld.serving.call import Call

# Seconds between two replies to calls that were open at the same time.
GAP = 0.02


class NewestFirst:
    """Holds replies back until every younger call has had its own.

    Args:
        post: queues bytes for the peer.
        flushed: waits until what was queued has been sent.
    """

    def __init__(self, post: Callable[[bytes], None], flushed: Callable[[], Awaitable[None]]) -> None:
        self._post = post
        self._flushed = flushed
        # From the oldest to the newest, each with its reply once there is one.
        self._open: dict[Call, bytes | None] = {}
        self._ready = anyio.Event()
        # Bytes that are held back.
        self.held = 0

    def __contains__(self, call: Call) -> bool:
        return call in self._open

    def begin(self, call: Call) -> None:
        """Note that the peer waits for a reply to a call."""
        self._open[call] = None

    def reply(self, call: Call, data: bytes) -> None:
        """Reply as soon as it is the call's turn."""
        self._open[call] = data
        self.held += len(data)
        self._ready.set()

    async def run(self) -> None:
        """Send replies in their turn, until cancelled."""
        while True:
            await self._ready.wait()
            self._ready = anyio.Event()
            while self._open:
                newest, data = next(reversed(self._open.items()))
                if data is None:
                    break
                del self._open[newest]
                self._post(data)
                self.held -= len(data)
                if self._open:
                    await self._flushed()
                    await anyio.sleep(GAP)
