"""Reading messages from stored rows.

Every message is made here: one that is added is read from its row as well, so that live and replayed conversations
cannot differ.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import parse
from reel.base.values import clean_deep, has_large_number, is_clean, is_deeper, numbers_as_text
from reel.said.blocks import (
    MAX_DEPTH,
    Check,
    InvalidRecord,
    check_blocks,
    check_bool,
    check_map,
    check_name,
    check_text,
    check_word,
    kind_of,
)
from reel.said.kinds import ROLES
from reel.said.messages import Block, Message, Metadata, Role


class Parts(NamedTuple):
    """A message without its place in a conversation."""

    role: Role
    content: list[Block]
    provider_metadata: Metadata


def message_from_record(record: Mapping[str, Any]) -> Message | None:
    """Return the message that a record holds.

    Args:
        record: ``{kind, content, data_json, seq, time, sent?, ref?}``; a missing field counts as ``None``, seq and time
            as 0.

    Returns:
        the message, or ``None`` if the kind has no messages (``system``, state, inert and unknown kinds).

    Raises:
        InvalidRecord: the kind has messages, but this row is not one; the error names the field.
    """
    parts = read_row(record.get("kind"), record.get("content"), record.get("data_json"))
    if parts is None:
        return None
    message: Message = {
        "role": parts.role,
        "content": parts.content,
        "provider_metadata": parts.provider_metadata,
        "seq": record.get("seq", 0),
        "time": record.get("time", 0),
    }
    if "sent" in record:
        message["sent"] = record["sent"]
    if "ref" in record:
        message["ref"] = record["ref"]
    return message


def read_row(kind: Any, content: Any, data_json: Any) -> Parts | None:
    """Read the three columns that make a message; see :func:`message_from_record`.

    Large numbers in the metadata become text.
    """
    parts = read_exactly(kind, content, data_json)
    if parts is None or data_json is None:  # a plain text has no numbers
        return parts
    return with_numbers_as_text(parts)[0]


def with_numbers_as_text(parts: Parts) -> tuple[Parts, int]:
    """Return a message with text for every large number in its metadata, and how many there are."""
    if not has_large_number(metadata_in(parts)):
        return parts, 0
    (blocks, metadata), count = numbers_as_text([parts.content, parts.provider_metadata])
    return Parts(parts.role, blocks, metadata), count


def metadata_in(parts: Parts) -> list[Metadata]:
    """List the non-empty metadata of a message and of its blocks: no other field has numbers."""
    return _metadata_in(parts.content, [parts.provider_metadata] if parts.provider_metadata else [])


def _metadata_in(blocks: Iterable[Mapping[str, Any]], found: list[Metadata]) -> list[Metadata]:
    for block in blocks:
        if metadata := block.get("provider_metadata"):
            found.append(metadata)
        if type(inside := block.get("content")) is list:
            _metadata_in(inside, found)
    return found


def read_exactly(kind: Any, content: Any, data_json: Any) -> Parts | None:
    """Read the three columns that make a message, with every number as it is stored.

    Raises:
        InvalidRecord: as :func:`message_from_record`.
    """
    role = ROLES.get(kind) if isinstance(kind, str) else None
    if role is None:
        return None
    if kind in ("user", "assistant"):
        if type(content) is not str:
            raise InvalidRecord("content", f"expected a string, got {kind_of(content)}")
        if data_json is None:
            return Parts(cast("Role", role), [{"type": "text", "text": content}], {})
    data = parse_data(data_json)
    if _has_blocks(data) and kind != "tool_call":
        return _read_blocks(cast("Role", role), data)
    if kind == "tool_call":
        return Parts("assistant", _read_call(data), {})
    if role == "tool":
        return Parts("tool", [_read_result(data)], {})
    return Parts(cast("Role", role), [{"type": "text", "text": content}], data)


def system_text(content: str | None) -> str | None:
    """Return the prompt that a system event sets; an empty one removes it."""
    return content or None


def parse_data(text: Any) -> dict[str, Any]:
    """Parse a row's ``data_json``.

    An escaped NUL or lone surrogate stays in the row, but becomes U+FFFD in the result.

    Raises:
        InvalidRecord: it is null, not JSON, not an object, or nested deeper than 10 levels.
    """
    if type(text) is not str:
        raise InvalidRecord("data_json", f"expected a JSON text, got {kind_of(text)}")
    try:
        data = parse(text)
        # To look for one character takes a tenth of the time.
        if ("\\" in text and "\\u" in text) or not is_clean(text):
            data, _ = clean_deep(data)
    except RecursionError:
        raise InvalidRecord("data_json", f"lists and maps nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise InvalidRecord("data_json", f"not JSON: {error}") from None
    if type(data) is not dict:
        raise InvalidRecord("data_json", f"expected a JSON object, got {kind_of(data)}")
    if is_deeper(data, MAX_DEPTH):  # whatever else is not plain is no JSON, or was replaced
        raise InvalidRecord("data_json", "lists and maps nested too deep")
    return data


def _has_blocks(data: dict[str, Any]) -> bool:
    """Return whether the data is in our own form, and does not just happen to have a key of that name."""
    return "blocks" in data and data.keys() <= {"blocks", "provider_metadata"}


def _read_blocks(role: Role, data: dict[str, Any]) -> Parts:
    check_blocks(data["blocks"], role, "data_json.blocks")
    metadata = data.get("provider_metadata")
    if metadata is not None and (problem := check_map(metadata)) is not None:
        raise InvalidRecord("data_json.provider_metadata", problem)
    if role == "tool":
        for block in data["blocks"]:
            block["is_error"] = bool(block.get("is_error"))
    return Parts(role, data["blocks"], metadata or {})


def _read_call(data: dict[str, Any]) -> list[Block]:
    """Read a call, in any of the three forms in which calls were ever stored."""
    if "function" in data:
        function = _field(data, "function", check_map)
        return [_call(_field(data, "id", check_name), function, "name", "arguments", "data_json.function")]
    call_id = _field(data, "tool_call_id", check_name)
    if "tool_name" in data or "tool_args" in data:
        return [*_read_thinking(data), _call(call_id, data, "tool_name", "tool_args", "data_json")]
    return [_call(call_id, data, "name", "arguments", "data_json")]


def _call(call_id: str, data: dict[str, Any], name: str, arguments: str, where: str) -> Block:
    return {
        "type": "tool_call",
        "id": call_id,
        "name": _field(data, name, check_name, where),
        "arguments": _field(data, arguments, check_text, where),
    }


def _read_thinking(data: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    if data.get("thinking") is not None:
        thinking = _field(data, "thinking", check_map)
        blocks.append({"type": "thinking", "text": _field(thinking, "text", check_text, "data_json.thinking")})
        if thinking.get("signature") is not None:
            blocks[-1]["signature"] = _field(thinking, "signature", check_word, "data_json.thinking")  # type: ignore[typeddict-unknown-key]
    if data.get("redacted_thinking") is not None:
        redacted = _field(data, "redacted_thinking", check_map)
        blocks.append(
            {"type": "redacted_thinking", "data": _field(redacted, "data", check_word, "data_json.redacted_thinking")}
        )
    return blocks


def _read_result(data: dict[str, Any]) -> Block:
    """Read a result; one without ``success`` counts as failed."""
    for field in ("name", "summary"):
        if data.get(field) is not None:
            _field(data, field, check_text)
    return {
        "type": "tool_result",
        "tool_call_id": _field(data, "tool_call_id", check_name),
        "content": _field(data, "output", check_text),
        "is_error": not _field(data, "success", check_bool) if "success" in data else True,
    }


def _field(data: dict[str, Any], name: str, check: Check, where: str = "data_json") -> Any:
    if name not in data:
        raise InvalidRecord(f"{where}.{name}", "is missing")
    if (problem := check(data[name])) is not None:
        raise InvalidRecord(f"{where}.{name}", problem)
    return data[name]
