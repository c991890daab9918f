"""How many messages the window of an agent leaves out, in what the framework keeps of the agent."""

from typing import Any, Final

Json = dict[str, Any]

_WINDOW: Final = "conversation_manager_state"
_COUNT: Final = "removed_message_count"


def only_leaves_out_more(before: Any, after: Any) -> bool:
    """Return whether two records of an agent differ only in their time, and in that the window leaves out more."""
    try:
        return bool(before[_WINDOW][_COUNT] < after[_WINDOW][_COUNT]) and _rest(before) == _rest(after)
    except (TypeError, LookupError):
        return False


def _rest(record: Json) -> Json:
    return {**record, "updated_at": None, _WINDOW: {**record[_WINDOW], _COUNT: None}}
