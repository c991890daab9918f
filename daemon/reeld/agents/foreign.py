"""Decides which events of other daemons an agent can fold into its state; for all others it reads its state again."""

from collections.abc import Sequence

from reel.kinds import CONVERSATION, INERT
from reeld.core.events import Event
from reeld.core.state import State
from reeld.store.elsewhere import ForeignEvent

# Kinds of events that change no more of the profile than its head and time, and take over no other state.
_PLAIN = CONVERSATION | INERT | {"mark", "clear"}


def completes(state: State, news: Sequence[ForeignEvent]) -> bool:
    """Return whether these events can be folded into a state of their agent, and complete it."""
    first, head = news[0].event, state.profile.head
    if first.seq != head + 1 or news[-1].event.seq != head + len(news):
        return False
    if first.kind in ("rewind", "restore"):
        return state.conversation.has(first.parent) and all(_is_plain(each.event) for each in news[1:])
    return all(_is_plain(each.event) for each in news)


def _is_plain(event: Event) -> bool:
    return event.kind in _PLAIN
