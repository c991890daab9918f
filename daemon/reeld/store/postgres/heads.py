"""The newest seqs of the agents that were written to last, to recognize which of them have lost events."""

from collections import OrderedDict
from collections.abc import Iterator

from reel.base.light_typing import NamedTuple

# Agents, 300 bytes each.
_MOST = 1 << 15


class Head(NamedTuple):
    """The newest event that is known of an agent: the row and the id of the agent, and its seq and id."""

    row: int
    uid: str
    seq: int
    event: int


class Heads:
    """The heads of some agents, in the order in which they were written; the oldest are forgotten."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._heads: OrderedDict[int, Head] = OrderedDict()

    def note(self, head: Head) -> None:
        """Remember the newest event of all, which is of this agent."""
        self._heads[head.row] = head
        self._heads.move_to_end(head.row)
        if len(self._heads) > self._most:
            self._heads.popitem(last=False)

    def after(self, event: int) -> Iterator[Head]:
        """Yield the agents whose newest event has a larger id."""
        for head in reversed(self._heads.values()):
            if head.event <= event:
                return
            yield head

    def forget(self, event: int) -> None:
        """Forget the events with a larger id."""
        for head in list(self.after(event)):
            del self._heads[head.row]
