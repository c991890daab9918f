"""Makes committed events of logged ones: what each did to its conversation, which the log does not have.

The events are folded again, agent by agent, from the state before the first of them.
"""

from collections import OrderedDict

from reeld.agents.event_bus import CommittedEvent
from reeld.core.conversation import Branch, Conversation, Replacement, Takeover
from reeld.core.events import Entry, Mark
from reeld.core.milestones import Extent
from reeld.core.reading import LEAST_READ
from reeld.store.history import Logged
from reeld.store.store import Store

# Entries of conversations that are folded at a time, about 200 bytes each. The bound used to be a number of
# conversations, 16: with one more agent in turns, each event read its whole conversation again, which took 148 s for
# 20 agents of 1,000 events. Fewer are kept until the next event of another daemon: those of a hundred conversations.
_MAX_FOLDED, _MAX_RESTING = 100_000, 30_000


class LogReplayer:
    """Turns logged events into committed ones.

    Args:
        store: reads the states before events.
        with_extents: whether to compute what the events did; if not, nothing is folded.
    """

    def __init__(self, store: Store, *, with_extents: bool) -> None:
        self._store = store
        self._with_extents = with_extents
        # By the agent's row, the most recently used last; and how many entries they have.
        self._folded: OrderedDict[int, Conversation] = OrderedDict()
        self._entries = 0

    async def event(self, logged: Logged) -> CommittedEvent:
        """Return the event as it was published; an agent's events must come in order."""
        profile, event_id, event = logged
        if not self._with_extents:
            return CommittedEvent(profile, event_id, event, Extent(0, 0), Extent(0, 0))
        conversation = await self._state_before(logged)
        before, past = len(conversation.entries), None
        if event.kind in ("rewind", "restore", "clone"):
            past = _light(await self._store.takeover(event.parent, conversation))
        kept = conversation.apply(event_id, event._replace(message=event.message and b""), past)
        if conversation.has_new_milestones:
            conversation.take_new_milestones()
            conversation.trim(LEAST_READ)
        self._make_room(len(conversation.entries) - before, _MAX_FOLDED)
        return CommittedEvent(profile, event_id, event, kept, conversation.extent)

    async def _state_before(self, logged: Logged) -> Conversation:
        row = logged.profile.row
        if row not in self._folded:
            conversation = await self._store.before(row, logged.event.seq)
            self._folded[row] = _lightened(conversation)
            self._make_room(len(conversation.entries), _MAX_FOLDED)
        self._folded.move_to_end(row)
        return self._folded[row]

    def _make_room(self, more: int, most: int) -> None:
        """Count added or removed entries, and drop the least recently used conversations if there are too many."""
        self._entries += more
        while self._entries > most and len(self._folded) > 1:
            _, dropped = self._folded.popitem(last=False)
            self._entries -= len(dropped.entries)

    def rest(self) -> None:
        """Keep little of what was folded, until the log is read again."""
        for conversation in self._folded.values():
            conversation.trim(LEAST_READ)
        self._make_room(sum(len(each.entries) for each in self._folded.values()) - self._entries, _MAX_RESTING)

    def forget(self, row: int) -> None:
        """Forget the state of an agent that has got an event which was not folded."""
        conversation = self._folded.pop(row, None)
        if conversation is not None:
            self._entries -= len(conversation.entries)


def _light(past: Takeover) -> Takeover:
    if isinstance(past, Replacement):
        return Replacement(_lightened(past.conversation), past.kept)
    return Branch(past.base, [node if isinstance(node, Mark) else _without_text(node) for node in past.nodes])


def _lightened(conversation: Conversation) -> Conversation:
    conversation.entries[:] = map(_without_text, conversation.entries)
    return conversation


def _without_text(entry: Entry) -> Entry:
    """Return an entry for counting: whether it is a message is all that matters."""
    return entry._replace(kept=None, data_json=None, message=entry.message and b"")
