"""What happened, told again from the log: each event with what it did to its conversation then."""

from collections import OrderedDict

from reeld.agents.event_bus import News
from reeld.core.conversation import Conversation, Extent
from reeld.store.following import Logged
from reeld.store.store import Store

# Conversations that are folded at a time; who follows all agents may need another for each event.
_KEPT = 16


class Rerun:
    """Folds events that are read from the log, agent by agent.

    Args:
        store: where states before an event are read.
        counted: whether anybody wants to know what the events did; if not, nothing is folded.
    """

    def __init__(self, store: Store, *, counted: bool) -> None:
        self._store = store
        self._counted = counted
        # By the agent's row, the one that was used last at the end.
        self._folds: OrderedDict[int, Conversation] = OrderedDict()

    async def news(self, logged: Logged) -> News:
        """Give what was published when an event was committed; an agent's events come in order."""
        profile, event_id, draft = logged
        if not self._counted:
            return News(profile, event_id, draft, Extent(0, 0), Extent(0, 0))
        conversation = await self._before(logged)
        past = None
        if draft.kind in ("restore", "clone") and not conversation.has(draft.parent):
            past = (await self._store.walk(draft.parent)).nodes
        kept = conversation.apply(event_id, draft, past)
        return News(profile, event_id, draft, kept, conversation.extent)

    async def _before(self, logged: Logged) -> Conversation:
        """Give the conversation as it was before an event."""
        row = logged.profile.row
        if row not in self._folds:
            past = await self._store.before(row, logged.draft.seq)
            self._folds[row] = Conversation(past.nodes)
            if len(self._folds) > _KEPT:
                self._folds.popitem(last=False)
        self._folds.move_to_end(row)
        return self._folds[row]
