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
        # How many renderings were found here, and how many were not.
        self.hits = self.misses = 0
        # How often something was forgotten: what was made of a conversation from before is not kept.
        self.age = 0
        self._room = room
        self._entries: OrderedDict[Key, tuple[RenderState, int]] = OrderedDict()
        # One thread at a time: each one that computes takes its share of the loop's time under the GIL.
        self._limiter = anyio.CapacityLimiter(1)

    def pop(self, key: Key) -> RenderState | None:
        """Take an entry out; it belongs to the caller until it is put back, because rendering changes it."""
        state = self._take(key)
        if state is None:
            self.misses += 1
        else:
            self.hits += 1
        return state

    def _take(self, key: Key) -> RenderState | None:
        state, size = self._entries.pop(key, (None, 0))
        self.size -= size
        return state

    def forget(self, rows: set[int]) -> None:
        """Drop the entries of some agents, also those that are out."""
        self.age += 1
        for key in [key for key in self._entries if key[0] in rows]:
            self._take(key)

    def put(self, key: Key, state: RenderState, age: int) -> None:
        """Put an entry in, and drop those that were not used for longest.

        Args:
            key: whose entry it is.
            state: the entry.
            age: the age when the conversation was read; if something was forgotten since, the entry is not kept.
        """
        self._take(key)
        if age != self.age:
            return
        self._entries[key] = state, state.size
        self.size += state.size
        while self.size > self._room:
            _, (_, size) = self._entries.popitem(last=False)
            self.size -= size

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run something that takes long in a thread, and wait for it."""
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
