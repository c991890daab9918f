"""Milestones: summaries of a conversation up to one of its entries, so that what precedes need not be read.

A state is the path from its tip to the root (:mod:`reeld.core.tree`), and a path never changes. So the result of
folding a path can be stored with one of its nodes permanently, and holds for every agent that has this node in its
past, clones included. That is a milestone. Each path has one about every ``STEP`` nodes, and each names the one before
it. With them

* a state is read by walking back to a milestone, not to the root: a few hundred nodes of a conversation of any length;
* a page in the middle of a long conversation is found by going from milestone to milestone;
* the length of the common prefix of two states is known without reading it.

Milestones are derived from the log. If one is missing or damaged, the log is read further back, and it is recomputed.
So they may be written after their events, and losing one does no harm.
"""

from reel.base.light_typing import NamedTuple
from reeld.core.events import Entry, Mark
from reeld.core.open_calls import OpenCall

# Nodes from one milestone to the next. Loading a conversation reads half as many on average, 10 us each. Finding a page
# far from the end takes 5 us for each milestone in between: 10 ms for a million messages.
STEP = 512
# With more open calls than this, an entry gets no milestone, because each would repeat all of them.
MAX_OPEN_CALLS = 256


class Extent(NamedTuple):
    """The length of a conversation in its two views."""

    records: int
    messages: int


class Waypoint(NamedTuple):
    """A node of a path up to which the length of the state is known, and the node's seq."""

    id: int
    seq: int
    extent: Extent


class Milestone(NamedTuple):
    """The summary of a conversation up to one of its entries.

    Args:
        id: the entry's id.
        seq: the entry's seq.
        extent: how many records and messages there are.
        speaker: the kind of the newest message; ``None`` if there is no message.
        prompt: the id of the newest system event; ``None`` if there is no such event.
        previous: the id of the milestone before this one; ``None`` for the first.
        marked: the id of the newest milestone before this one that has marks; ``None`` if none has.
        marks: the marks after the previous milestone.
        open_calls: all calls without a result.
    """

    id: int
    seq: int
    extent: Extent
    speaker: str | None
    prompt: int | None
    previous: int | None
    marked: int | None
    marks: tuple[Mark, ...]
    open_calls: tuple[OpenCall, ...]

    @property
    def waypoint(self) -> Waypoint:
        """Its place, and the length of the state there."""
        return Waypoint(self.id, self.seq, self.extent)


class Foundation(NamedTuple):
    """The base of a conversation whose first entries are not in memory.

    Args:
        milestone: the summary up to the newest entry that is not in memory.
        marks: all marks up to there.
        prompt: the newest system event up to there.
    """

    milestone: Milestone
    marks: list[Mark]
    prompt: Entry | None
