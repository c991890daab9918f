"""The roles of messages, and which of them a block belongs to."""

from collections.abc import Iterator
from itertools import groupby

from reel.base.strict_json import Json

# The blocks of the model's reasoning.
THOUGHTS = ("thinking", "redacted_thinking")
# The roles that speak with more authority than the user.
INSTRUCTION_ROLES = ("system", "developer")

# The role that a block belongs to, whatever the role of its message.
_ROLE_OF_BLOCK = {"tool_result": "tool", **dict.fromkeys(("tool_call", *THOUGHTS), "assistant")}


def split_by_role(blocks: list[Json], role: str) -> Iterator[tuple[str, list[Json]]]:
    """Split the blocks of one message by the role that may hold them: a result is the tool's, a call the assistant's.

    Args:
        blocks: the blocks; an empty list counts as one empty text.
        role: the role of all other blocks, ``user`` or ``assistant``.
    """
    some = blocks or [{"type": "text", "text": ""}]
    for owner, run in groupby(some, key=lambda block: _ROLE_OF_BLOCK.get(block["type"], role)):
        yield owner, list(run)
