"""What rendering keeps between two requests, and where work is done that would hold up everybody else."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import anyio

from reeld.formats.render_state import RenderState

T = TypeVar("T")
# An agent's row in the database, and a format.
Place = tuple[int, str]

# As much as some ten long conversations take.
ROOM = 64 << 20


class Shelf:
    """Keeps what was rendered, the most recently used; what is on it may be gone the next time.

    Args:
        room: how much it holds, in bytes.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.size = 0
        self._room = room
        self._kept: OrderedDict[Place, tuple[RenderState, int]] = OrderedDict()
        # One at a time: each thread that computes takes its share of the loop's time.
        self._lane = anyio.CapacityLimiter(1)

    def take(self, place: Place) -> RenderState | None:
        """Take what was kept; it belongs to the caller until it is put back."""
        kept, size = self._kept.pop(place, (None, 0))
        self.size -= size
        return kept

    def put(self, place: Place, kept: RenderState) -> None:
        """Keep something, and let go of what was not used for longest."""
        self.take(place)
        self._kept[place] = kept, kept.size
        self.size += kept.size
        while self.size > self._room:
            _, (_, size) = self._kept.popitem(last=False)
            self.size -= size

    async def work(self, work: Callable[[], T]) -> T:
        """Do something that takes time in a thread, and wait for it."""
        return await anyio.to_thread.run_sync(work, limiter=self._lane)
