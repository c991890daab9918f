"""Which events of other daemons an agent folds into its state, and which make it read its state again."""

from collections.abc import Sequence

from reel.kinds import CONVERSATION, INERT
from reeld.core.events import Event
from reeld.core.state import State
from reeld.store.elsewhere import ForeignEvent

# What leaves the profile as it is, but for its head and its time, and takes over no other state.
_PLAIN = CONVERSATION | INERT | {"mark", "clear"}


def is_all_that_lacks(state: State, news: Sequence[ForeignEvent]) -> bool:
    """Return whether some events of an agent can be folded into a state of it, and are all that it lacks."""
    first, head = news[0].event, state.profile.head
    if first.seq != head + 1 or news[-1].event.seq != head + len(news):
        return False
    if first.kind in ("rewind", "restore"):
        return state.conversation.has(first.parent) and all(_is_plain(each.event) for each in news[1:])
    return all(_is_plain(each.event) for each in news)


def _is_plain(event: Event) -> bool:
    return event.kind in _PLAIN
