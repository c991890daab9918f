"""What rendering keeps between two requests, and the thread where long computations run."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import anyio

from reeld.formats.render_state import RenderState

T = TypeVar("T")
# An agent's row in the database, and a format.
Key = tuple[int, str]

# Bytes: about ten long conversations.
ROOM = 64 << 20


class RenderCache:
    """Keeps the state of incremental renderings, the most recently used; an entry may be gone the next time.

    Args:
        room: how many bytes it holds.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.size = 0
        self._room = room
        self._entries: OrderedDict[Key, tuple[RenderState, int]] = OrderedDict()
        # One thread at a time: each one that computes takes its share of the loop's time under the GIL.
        self._limiter = anyio.CapacityLimiter(1)

    def pop(self, key: Key) -> RenderState | None:
        """Take an entry out; it belongs to the caller until it is put back, because rendering changes it."""
        state, size = self._entries.pop(key, (None, 0))
        self.size -= size
        return state

    def put(self, key: Key, state: RenderState) -> None:
        """Put an entry in, and drop those that were not used for longest."""
        self.pop(key)
        self._entries[key] = state, state.size
        self.size += state.size
        while self.size > self._room:
            _, (_, size) = self._entries.popitem(last=False)
            self.size -= size

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run something that takes long in a thread, and wait for it."""
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
