"""Messages to add, made from their parts."""

from __future__ import annotations

from reel.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from reel.messages import NewMessage, ToolOutput, ToolResultBlock


def text(role: Literal["user", "assistant", "system"], text: str) -> NewMessage:
    """Return a message of one text."""
    return {"role": role, "content": [{"type": "text", "text": text}]}


def tool_call(id: str, name: str, arguments: str | Mapping[str, Any]) -> NewMessage:  # noqa: A002 - the block's field
    """Return an assistant message of one tool call.

    Args:
        id: the id that the result refers to, 1 to 1,024 characters.
        name: the name of the tool, 1 to 1,024 characters.
        arguments: JSON text, which is kept unchanged, or a map, as some SDKs have it.
    """
    if not isinstance(arguments, str):
        from reel.strict_json import encode  # noqa: PLC0415 - JSON text needs no encoder

        arguments = encode(dict(arguments))
    return {"role": "assistant", "content": [{"type": "tool_call", "id": id, "name": name, "arguments": arguments}]}


def tool_result(
    tool_call_id: str,
    content: ToolOutput,
    is_error: bool = False,  # noqa: FBT001, FBT002 - the third of three
) -> NewMessage:
    """Return a tool message of one result.

    Args:
        tool_call_id: the id of the call.
        content: the result: a text, or a list of text, media and opaque blocks.
        is_error: whether the call failed.
    """
    block: ToolResultBlock = {
        "type": "tool_result",
        "tool_call_id": tool_call_id,
        "content": content,
        "is_error": is_error,
    }
    return {"role": "tool", "content": [block]}
