"""How many messages the window of an agent leaves out, in what the framework keeps of the agent."""

from typing import Any, Final

from strands.types.session import SessionAgent

from reel.integrations.strands_agents.entries import reaches
from reel.sync.client import Client

Json = dict[str, Any]

_WINDOW: Final = "conversation_manager_state"
_COUNT: Final = "removed_message_count"
# What a window that leaves out nothing has under these keys.
_NOTHING: Final = {_COUNT: 0, "summary_message": None}


def only_leaves_out_more(before: Any, after: Any) -> bool:
    """Return whether two records of an agent differ only in their time, and in that the window leaves out more."""
    try:
        return bool(before[_WINDOW][_COUNT] < after[_WINDOW][_COUNT]) and _rest(before) == _rest(after)
    except (TypeError, LookupError):
        return False


def _rest(record: Json) -> Json:
    return {**record, "updated_at": None, _WINDOW: {**record[_WINDOW], _COUNT: None}}


def begin_again(client: Client, agent: str, found: SessionAgent) -> None:
    """Let the window leave out nothing if others have gone back to before it, or have replaced all messages.

    The agent gets the whole conversation then (:meth:`ReelSessionRepository.list_messages`). With the earlier number it
    would go on counting from there, and a later process would leave out what is there now.
    """
    window = found.conversation_manager_state
    count = window.get(_COUNT)
    if count and not reaches(client, agent, count):
        window.update((key, nothing) for key, nothing in _NOTHING.items() if key in window)
