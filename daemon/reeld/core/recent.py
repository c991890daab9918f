"""Where a reader begins that wants only the newest messages of a long conversation.

A rendering with a budget leaves out the oldest turns. Where it cuts depends on how the history grew, turn by turn
(:mod:`reeld.formats.budget`). Of a conversation that is many times longer than the budget, only the newest part is
looked at, as if it had grown from there: a million messages took 12 s of CPU and 700 MB, for a body of 100 messages.

That part begins at a milestone. Which one it is follows from the history alone, not from what is in memory, and it
moves seldom, because each time the cut may move as well. So of those that are far enough back, and not twice as far, it
is the one at the roundest number of records: like the longest line of a ruler, that stays the same for long.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from reel.base.light_typing import NamedTuple
from reel.said.kinds import ROLES
from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.milestones import STEP, Milestone
from reeld.core.open_calls import OpenCall, OpenCalls


class Earlier(NamedTuple):
    """What comes before some entries of a conversation.

    Args:
        milestone: a milestone before them.
        messages: how many messages there are.
        open_calls: the calls that have no result.
        first: the seq of the first message, once it is known.
    """

    milestone: Milestone
    messages: int
    open_calls: tuple[OpenCall, ...]
    first: int = 0


class Recent(NamedTuple):
    """The newest entries of a conversation, and what comes before them; ``None`` if these are all."""

    entries: list[Entry]
    earlier: Earlier | None = None

    def messages(self, first: int, end: int) -> int:
        """Return how many messages there are from a seq up to another; earlier ones count as well."""
        begin, stop = (bisect_left(self.entries, place, key=attrgetter("seq")) for place in (first, end))
        shown = sum(entry.message is not None for entry in self.entries[begin:stop])
        return shown + (0 if self.earlier is None else self.earlier.messages)


def recent(conversation: Conversation, size: int) -> Recent | None:
    """Return the newest entries of a conversation, from where the user speaks; ``None`` if more of it must be read.

    Args:
        conversation: the conversation. If not all of it is in memory, messages of twice the size must be.
        size: at least so many bytes of messages, if there are as many.
    """
    begin: Milestone | None = None
    total = 0
    for milestone, after in _milestones(conversation):
        total += after
        if total >= 2 * size:
            return _from(conversation, begin or milestone)
        if total >= size and (begin is None or _roundness(milestone) >= _roundness(begin)):
            begin = milestone
    if conversation.base is not None:
        return None
    if begin is not None:
        first = bisect_right(conversation.entries, conversation.milestones[0].id, key=attrgetter("id"))
        if total + _size(conversation.entries[:first]) >= 2 * size:
            return _from(conversation, begin)
    return Recent(conversation.entries[:])


def _milestones(conversation: Conversation) -> Iterator[tuple[Milestone, int]]:
    """Yield the milestones in memory, the newest first, each with the bytes of the messages from there to the next."""
    end = len(conversation.entries)
    base = [] if conversation.base is None else [conversation.base]
    for milestone in (*reversed(conversation.milestones), *base):
        first = bisect_right(conversation.entries, milestone.id, key=attrgetter("id"))
        yield milestone, _size(conversation.entries[first:end])
        end = first


def _size(entries: Sequence[Entry]) -> int:
    return sum([len(entry.message) for entry in entries if entry.message is not None])


def _roundness(milestone: Milestone) -> int:
    number = milestone.extent.records // STEP
    return number & -number


def _from(conversation: Conversation, milestone: Milestone) -> Recent:
    """Return the entries after a milestone, from where somebody answers the assistant, if anybody does."""
    entries = conversation.entries
    begin = first = bisect_right(entries, milestone.id, key=attrgetter("id"))
    before = milestone.speaker
    for index, entry in enumerate(entries[first:], first):
        if entry.message is not None:
            if before is not None and ROLES[before] == "assistant" != ROLES[entry.kind]:
                begin = index
                break
            before = entry.kind
    calls, messages = OpenCalls(milestone.open_calls), milestone.extent.messages
    for entry in entries[first:begin]:
        messages += entry.message is not None
        if entry.tools is not None:
            calls.take(entry.seq, entry.tools)
    return Recent(entries[begin:], Earlier(milestone, messages, tuple(calls)))
