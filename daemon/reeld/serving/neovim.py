"""Special treatment of Neovim: an introduction, and replies in an order that old versions accept.

A Neovim below 0.10 keeps its open calls on a stack and closes the channel when a reply is not for the newest of
them. It is also slow to pop a call off that stack, so the next reply must not follow at once. From 0.10 on it takes
replies in any order, if the peer introduces itself as ``msgpack-rpc``.
"""

import re
from collections.abc import Awaitable, Callable, Hashable

import anyio

from reel.base.wakeup import Signal
from reel.version import __version__
from reeld.wire.msgpack_framing import ServerMessagePack

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")
_ANY_ORDER_SINCE = (0, 10)
# Seconds between two replies to calls that were open at the same time. Neovim 0.7 needed up to 10 ms to pop a call.
GAP = 0.02


def is_neovim(client: str | None) -> bool:
    """Return whether a client's name is Neovim's."""
    return client == "nvim"


def needs_lifo_replies(client: str | None, version: str | None) -> bool:
    """Return whether the peer is a Neovim, of an old or unknown version, that needs its replies newest first."""
    if not is_neovim(client):
        return False
    found = _VERSION.match(version or "")
    return found is None or (int(found[1]), int(found[2])) < _ANY_ORDER_SINCE


def set_client_info(framing: ServerMessagePack) -> bytes:
    """Return the notification that tells Neovim who we are."""
    found = _VERSION.match(__version__)
    numbers = [int(number or 0) for number in found.groups()] if found else [0, 0, 0]
    version = dict(zip(("major", "minor", "patch"), numbers, strict=True))
    return framing.notify("nvim_set_client_info", ["reeld", version, "msgpack-rpc", {}, {}])


class LifoReplies:
    """Holds each reply back until every younger call has had its own.

    Args:
        post: queues bytes for the peer.
        flushed: waits until what was queued has been sent.
    """

    def __init__(self, post: Callable[[bytes], None], flushed: Callable[[], Awaitable[None]]) -> None:
        self._post = post
        self._flushed = flushed
        # The open calls, oldest first, each with its reply once there is one.
        self._open: dict[Hashable, bytes | None] = {}
        self._ready = Signal()
        # Bytes that are held back.
        self.held = 0

    def __contains__(self, call: Hashable) -> bool:
        return call in self._open

    def begin(self, call: Hashable) -> None:
        """Take note that the peer waits for a reply to a call."""
        self._open[call] = None

    def reply(self, call: Hashable, data: bytes) -> None:
        """Send the reply as soon as it is its call's turn."""
        self._open[call] = data
        self.held += len(data)
        self._ready.set()

    async def run(self) -> None:
        """Send replies in their turn, until cancelled."""
        while True:
            await self._ready.wait()
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
