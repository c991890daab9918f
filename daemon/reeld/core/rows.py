"""Rows: the columns of an event from which a message is read, and what is read of them.

A message of a single plain block is in columns, so that logs can be read and searched without its JSON. All others are
in JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode
from reel.base.values import is_deeper, new_tuple
from reel.said.blocks import MAX_DEPTH
from reel.said.records import Parts, read_exactly, with_numbers_as_text
from reeld.core.events import Origin

# Characters of a call's name and arguments that the readable content shows.
_SHOWN = 200


class Row(NamedTuple):
    """The three columns of an event from which a message is read, and its origin."""

    kind: str
    content: str | None
    data_json: str | None
    origin: Origin | None = None


class CheckedRow(NamedTuple):
    """A valid row, and what was parsed from its data: ``None`` if it is a plain text, or has no message.

    A message is always made from its stored row. So a row is read before it is accepted, and what was read is kept, so
    that the command that stores the row does not read it a second time.
    """

    row: Row
    parts: Parts | None


def text_row(kind: str, content: str) -> CheckedRow:
    """Return the row of a plain text of a kind."""
    return new_tuple(CheckedRow, (new_tuple(Row, (kind, content, None, None)), None))


def row_from_blocks(role: str, blocks: Sequence[Any], metadata: dict[str, Any]) -> Row:
    """Return the row of a message of checked blocks: a single plain one in columns, all others as JSON."""
    if _is_in_columns(blocks, metadata):
        return _row_in_columns(role, blocks[0])
    return row_as_blocks("tool_result" if role == "tool" else role, role, blocks, metadata)


def row_as_blocks(kind: str, role: str, blocks: Sequence[Any], metadata: dict[str, Any]) -> Row:
    """Return the row of a kind with checked blocks, all as JSON."""
    content = None if role == "tool" else "\n".join(filter(None, map(_readable, blocks)))
    data: dict[str, Any] = {"blocks": list(blocks)}
    if metadata:
        data["provider_metadata"] = metadata
    return new_tuple(Row, (kind, content, encode(data), None))


def _is_in_columns(blocks: Sequence[Any], metadata: dict[str, Any]) -> bool:
    """Return whether a message has only one block, which fits into columns."""
    if len(blocks) != 1 or metadata or "provider_metadata" in blocks[0]:
        return False
    block = blocks[0]
    return block["type"] in ("text", "tool_call") or (block["type"] == "tool_result" and type(block["content"]) is str)


def _row_in_columns(role: str, block: dict[str, Any]) -> Row:
    """Return the row of a message whose only block fits into columns."""
    if block["type"] == "text":
        return new_tuple(Row, (role, block["text"], None, None))
    if block["type"] == "tool_call":
        call = {"tool_call_id": block["id"], "name": block["name"], "arguments": block["arguments"]}
        return new_tuple(Row, ("tool_call", _readable(block), encode(call), None))
    success = not block.get("is_error")
    result = {"tool_call_id": block["tool_call_id"], "output": block["content"], "success": success}
    return new_tuple(Row, ("tool_result", None, encode(result), None))


def _readable(block: dict[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "tool_call":
        return f"{block['name']}({block['arguments']})"[:_SHOWN]
    return ""


def checked(row: Row) -> CheckedRow:
    """Return a row with what was parsed from it.

    Raises:
        InvalidRecord: it is not a valid one.
    """
    return with_parts(row, read_exactly(row.kind, row.content, row.data_json))[0]


def with_parts(row: Row, parts: Parts | None) -> tuple[CheckedRow, int]:
    """Return a row with what was parsed from it, and how many numbers are text in its message."""
    if parts is None or row.data_json is None:  # a plain text has no numbers
        return new_tuple(CheckedRow, (row, None)), 0
    parts, numbers = with_numbers_as_text(parts)
    return new_tuple(CheckedRow, (row, parts)), numbers


def parts_of(row: Row, role: str, blocks: list[Any], metadata: dict[str, Any]) -> Parts | None:
    """Return what :func:`read_exactly` returns of the row of a message, whose blocks were checked, without parsing it.

    Parsing what was just encoded, and checking it again, took a third of the time that a message took.
    """
    if row.data_json is None or role == "system":
        return None
    if is_deeper({"blocks": blocks, "provider_metadata": metadata}, MAX_DEPTH):
        return read_exactly(row.kind, row.content, row.data_json)  # which says what is too deep
    return shallow_parts(row, role, blocks, metadata)


def shallow_parts(row: Row, role: str, blocks: list[Any], metadata: dict[str, Any]) -> Parts:
    """Return what :func:`parts_of` does, of a message with data that is not too deep."""
    block = blocks[0]
    if row.kind == "tool_call":
        made = {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": block["arguments"]}
        return new_tuple(Parts, ("assistant", [made], {}))
    if role == "tool" and _is_in_columns(blocks, metadata):
        id_, is_error = block["tool_call_id"], bool(block.get("is_error"))
        made = {"type": "tool_result", "tool_call_id": id_, "content": block["content"], "is_error": is_error}
        return new_tuple(Parts, ("tool", [made], {}))
    if role == "tool":
        blocks = [{**block, "is_error": bool(block.get("is_error"))} for block in blocks]
    return new_tuple(Parts, (role, blocks, metadata))


def with_metadata(given: CheckedRow, changed: Mapping[str, Any]) -> CheckedRow:
    """Return the row of a message with other metadata; ``None`` as a value removes it."""
    row = given.row
    parts = read_exactly(row.kind, row.content, row.data_json)
    if parts is None:
        return given
    metadata = {key: value for key, value in {**parts.provider_metadata, **changed}.items() if value is not None}
    kind = "tool_result" if parts.role == "tool" else parts.role
    made = row_as_blocks(kind, parts.role, parts.content, metadata)
    return checked(made._replace(origin=row.origin))


def with_origin(given: CheckedRow, origin: Origin) -> CheckedRow:
    """Return a row with its origin."""
    (kind, content, data_json, _), parts = given
    stored = None if origin.sent is None and origin.ref is None else origin
    return new_tuple(CheckedRow, (new_tuple(Row, (kind, content, data_json, stored)), parts))
