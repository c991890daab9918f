"""The roles of messages, and which of them a block belongs to."""

from reel.base.strict_json import Json
from reel.providers.metadata import opaque_object

# The blocks of the model's reasoning.
THOUGHTS = ("thinking", "redacted_thinking")
# The roles that speak with more authority than the user.
INSTRUCTION_ROLES = ("system", "developer")

# The types of opaque blocks that change the settings of a conversation, and say nothing.
_SETTINGS = ("tool_addition", "tool_removal", "configuration_update", "additional_tools")
# The role that a block belongs to, whatever the role of its message.
_ROLE_OF_BLOCK = {"tool_result": "tool", **dict.fromkeys(("tool_call", *THOUGHTS), "assistant")}


def split_by_role(blocks: list[Json], role: str) -> list[tuple[str, list[Json]]]:
    """Split the blocks of one message by the role that may hold them: a result is the tool's, a call the assistant's.

    Args:
        blocks: the blocks; an empty list counts as one empty text.
        role: the role of all other blocks, ``user`` or ``assistant``.
    """
    runs: list[tuple[str, list[Json]]] = []
    for block in blocks or [{"type": "text", "text": ""}]:
        owner = _ROLE_OF_BLOCK.get(block["type"], role)
        if not runs or runs[-1][0] != owner:
            runs.append((owner, []))
        runs[-1][1].append(block)
    return runs


def changes_settings(message: Json) -> bool:
    """Whether a message of the user's is nobody's turn: an instruction, or nothing but changes of settings."""
    if (message.get("provider_metadata") or {}).get("role") in INSTRUCTION_ROLES:
        return True
    return all(map(_is_setting, message["content"]))


def _is_setting(block: Json) -> bool:
    found = opaque_object(block) if block["type"] == "opaque" else None
    return found is not None and found.get("type") in _SETTINGS
