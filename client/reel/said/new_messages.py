"""Functions that build messages to add."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from reel.said.messages import NewMessage, NewRecord, ToolOutput, ToolResultBlock


# Levels of lists and maps in a record's data.
_LEVELS = 10


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
        from reel.base.strict_json import encode  # noqa: PLC0415 - JSON text needs no encoder

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


def state(key: str, value: Any, if_seq: int | None = None) -> NewRecord:
    """Return a record that stores a value beside the conversation, replacing the current one of the key.

    Args:
        key: 1 to 256 characters.
        value: anything that JSON has, up to 1 MiB of it.
        if_seq: only if the current value was set at this seq; 0: only if there is none.
    """
    from reel.base.strict_json import encode, parse  # noqa: PLC0415 - most messages need no encoder
    from reel.base.values import is_deeper  # noqa: PLC0415 - as above

    text = encode(value)
    is_deep = is_deeper(parse(text), _LEVELS - 1)  # the data is one level deeper than the value
    return _record(key, encode({"value_json": text} if is_deep else {"value": value}), if_seq)


def no_state(key: str, if_seq: int | None = None) -> NewRecord:
    """Return a record that removes the value of a key; see :func:`state`."""
    return _record(key, None, if_seq)


def _record(key: str, data_json: str | None, if_seq: int | None) -> NewRecord:
    made: NewRecord = {"kind": "state", "content": key, "data_json": data_json}
    return made if if_seq is None else {**made, "if_seq": if_seq}
