"""The history of a body: the turns that no later message changes, and those of the open exchanges."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reeld.formats.encoded_turns import EncodedTurns, TurnExtents


class History(NamedTuple):
    """The turns of a history: the settled ones, and the others."""

    settled: EncodedTurns
    open: EncodedTurns

    @property
    def items(self) -> int:
        """How many items there are."""
        return self.settled.count + self.open.count

    @property
    def extents(self) -> TurnExtents:
        """The places of all turns."""
        return self.settled.extents.followed_by(self.open.extents)

    @property
    def offsets(self) -> list[int]:
        """Where the bytes of each turn begin, and where those of the last one end."""
        before = self.settled.offsets()
        return [*before[:-1], *(before[-1] + offset for offset in self.open.offsets())]

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join([part for turns in self for part in turns.data.parts(0, len(turns.data))])

    def hash(self, items: int) -> Any:
        """Return the SHA-256 of the bytes of the first items."""
        settled = self.settled.count
        made = self.settled.hash(min(items, settled))
        if items > settled:
            for part in self.open.data.parts(0, sum(self.open.sizes[: items - settled])):
                made.update(part)
        return made
