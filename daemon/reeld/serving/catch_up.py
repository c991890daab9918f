"""Events read from the log, as they were published when they were committed.

A published event says how much of the conversation it left unchanged. The log does not; so events are folded again,
agent by agent, from the state before the first of them.
"""

from collections import OrderedDict

from reeld.agents.event_bus import CommittedEvent
from reeld.core.conversation import Conversation, Extent
from reeld.store.queries import Logged
from reeld.store.store import Store

# Conversations that are folded at a time; a subscription to all agents may need another one for each event.
_MAX_FOLDED = 16


class LogReplayer:
    """Turns logged events into committed ones.

    Args:
        store: reads the states before events.
        with_extents: whether to say what the events did; if not, nothing is folded.
    """

    def __init__(self, store: Store, *, with_extents: bool) -> None:
        self._store = store
        self._with_extents = with_extents
        # By the agent's row, the most recently used last.
        self._folded: OrderedDict[int, Conversation] = OrderedDict()

    async def event(self, logged: Logged) -> CommittedEvent:
        """Return the event as it was published; an agent's events must come in order."""
        profile, event_id, event = logged
        if not self._with_extents:
            return CommittedEvent(profile, event_id, event, Extent(0, 0), Extent(0, 0))
        conversation = await self._state_before(logged)
        past = None
        if event.kind in ("restore", "clone") and not conversation.has(event.parent):
            past = (await self._store.walk(event.parent)).nodes
        kept = conversation.apply(event_id, event, past)
        return CommittedEvent(profile, event_id, event, kept, conversation.extent)

    async def _state_before(self, logged: Logged) -> Conversation:
        row = logged.profile.row
        if row not in self._folded:
            past = await self._store.before(row, logged.event.seq)
            self._folded[row] = Conversation(past.nodes)
            if len(self._folded) > _MAX_FOLDED:
                self._folded.popitem(last=False)
        self._folded.move_to_end(row)
        return self._folded[row]
