"""The closed list of event kinds, and the one allow-list for what may reach a model.

It is a module of its own so that the list that decides about privacy can be read at a glance.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    P = TypeVar("P")

CONVERSATION = frozenset({"system", "user", "assistant", "tool_call", "tool_result", "tool"})
STATE = frozenset(
    {"created", "changed", "clear", "mark", "rewind", "clone", "restore", "agent_killed", "revived", "redacted", "lost"}
)
INERT = frozenset({"usage", "note", "interrupted", "command", "state", "fork"})
# What is part of a conversation, and can be the parent of an event: see tip_after.
NODE_KINDS = CONVERSATION | {"mark"}
# Read from old logs, but never written any more.
LEGACY = frozenset({"tool", "fork"})
# After one of these, the conversation is not just the previous one with more entries.
REPLACING = frozenset({"clear", "rewind", "clone", "restore", "redacted", "lost"})
KNOWN = CONVERSATION | STATE | INERT
ADDABLE = (CONVERSATION | INERT) - LEGACY

ROLES = {
    "user": "user",
    "assistant": "assistant",
    "tool_call": "assistant",
    "tool_result": "tool",
    "tool": "tool",
}


def is_conversation_kind(kind: object) -> bool:
    """Return whether events of this kind are part of a conversation.

    An allow-list: false for every other kind, for an unknown one and for ``None``, so that metadata can never reach a
    provider because a deny-list forgot it.
    """
    return isinstance(kind, str) and kind in CONVERSATION


def tip_after(node: P, kind: str, parent: P | None) -> P | None:
    """Return the tip of the conversation after an event; ``None`` if that is empty.

    Args:
        node: the event, as it is named as a parent.
        kind: its kind.
        parent: its parent.
    """
    return node if kind in NODE_KINDS else parent
