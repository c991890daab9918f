"""The closed list of event kinds, and the one allow-list for what may reach a model."""

CONVERSATION = frozenset({"system", "user", "assistant", "tool_call", "tool_result", "tool"})
STATE = frozenset({"created", "changed", "clear", "mark", "rewind", "clone", "restore", "agent_killed", "revived"})
INERT = frozenset({"usage", "note", "interrupted", "command", "fork"})
# Read wherever a log has them, written by nobody any more.
LEGACY = frozenset({"tool", "fork"})
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
    """Tell whether an event of this kind stands in a conversation.

    An allow-list: false for every other kind, for an unknown one and for ``None``, so that metadata can
    never reach a provider by being forgotten in a list of exceptions.
    """
    return isinstance(kind, str) and kind in CONVERSATION
