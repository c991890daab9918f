"""Reads requests and responses of Anthropic's API: both have the same blocks."""

from typing import Any

from reel.strict_json import Json
from reeld.formats.anthropic.rules import ANSWERED, PDF, PROVIDER, is_known
from reeld.formats.content import ANY_PICTURE, shortest
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    invalid_at,
    raise_provider_error,
    require_history,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder, PartReader, blocks_of, by_type, instructions, known_model
from reeld.formats.metadata import opaque_block, opaque_object, preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES, split_by_role

_API = "Anthropic Messages"


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    for index, found in enumerate(require_history(body.get("messages"), "messages", _API)):
        _add(builder, require_map(found, f"messages[{index}]"), f"messages[{index}]")
    prompt = instructions(PROVIDER, _blocks(body.get("system") or None, "system", None))
    return builder.loaded(body, ("messages", "system", "model"), prompt)


def _add(builder: HistoryBuilder, found: Json, where: str) -> None:
    """Add one message: one for each role that its blocks belong to."""
    role = require_role(found.get("role"), f"{where}.role", _API)
    is_assistant = role == "assistant"
    blocks = _blocks(found.get("content"), f"{where}.content", builder.model if is_assistant else None)
    kept = preserve_keys(PROVIDER, found, ("content",)) if role in INSTRUCTION_ROLES else {}
    for owner, content in split_by_role(blocks, "assistant" if is_assistant else "user"):
        builder.add(owner, content, kept)


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``content``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body is not an answer; ``data.field`` is the place.
    """
    raise_provider_error(body)
    if "content" not in body:
        raise invalid_at("content", f"is missing; a response of {_API} has it")
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    blocks = _blocks(body["content"], "content", builder.model)
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result":
            raise invalid_at(f"content[{index}]", "an answer cannot contain a tool_result")
        if block["type"] == "opaque" and not is_known(str((opaque_object(block) or {}).get("type"))):
            block["provider_metadata"] = {"provider": PROVIDER, ANSWERED: True}
    builder.add("assistant", blocks)
    return builder.answer(
        body,
        ("id", "type", "role", "model", "content", "stop_reason", "usage"),
        response_id=body.get("id"),
        finish_reason=body.get("stop_reason"),
        usage=usage_in(body),
    )


def _blocks(content: Any, where: str, model: str | None) -> list[Json]:
    """Read content; a block without a neutral form is kept whole.

    Args:
        content: a string, or a list of blocks.
        where: its place, for errors.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
    """

    def read(found: Json, place: str) -> Json:
        block = by_type(_READERS, found, place) or opaque_block(PROVIDER, found)
        if model is not None and block["type"] in ("thinking", "redacted_thinking", "opaque"):
            block["model"] = model
        return block

    return blocks_of(content, where, read)


def _text(found: Json, where: str) -> Json:
    kept = preserve_keys(PROVIDER, found, ("type", "text"))
    return {"type": "text", "text": require_str(found.get("text"), f"{where}.text"), **kept}


def _thinking(found: Json, where: str) -> Json:
    text = require_str(found.get("thinking"), f"{where}.thinking")
    block = {"type": "thinking", "text": text, "provider": PROVIDER}
    signature = found.get("signature")
    return {**block, "signature": require_str(signature, f"{where}.signature")} if signature is not None else block


def _redacted(found: Json, where: str) -> Json:
    data = require_str(found.get("data"), f"{where}.data")
    return {"type": "redacted_thinking", "data": data, "provider": PROVIDER}


def _call(found: Json, where: str) -> Json:
    """Read a call; a truncated input is a text, as received."""
    return {
        "type": "tool_call",
        "id": require_str(found.get("id"), f"{where}.id"),
        "name": require_str(found.get("name"), f"{where}.name"),
        "arguments": arguments_of(found.get("input")),
        **preserve_keys(PROVIDER, found, ("type", "id", "name", "input")),
    }


def _result(found: Json, where: str) -> Json:
    content = found.get("content")
    blocks = _blocks("" if content is None else content, f"{where}.content", None)
    return {
        "type": "tool_result",
        "tool_call_id": require_str(found.get("tool_use_id"), f"{where}.tool_use_id"),
        "content": shortest(blocks),
        "is_error": found.get("is_error") is True,
        **preserve_keys(PROVIDER, found, ("type", "tool_use_id", "content", "is_error")),
    }


def _media(found: Json, where: str) -> Json | None:
    """Read an image or a PDF as bytes or as a URL. Other sources, such as uploaded files, are Anthropic's own."""
    kind, source = found["type"], require_map(found.get("source"), f"{where}.source")
    mime = source.get("media_type") or (PDF if kind == "document" else ANY_PICTURE)
    if kind == "document" and mime != PDF:
        return None
    block: Json = {"type": "media", "mime_type": require_str(mime, f"{where}.source.media_type")}
    if source.get("type") == "base64":
        block["data_base64"] = require_str(source.get("data"), f"{where}.source.data")
    elif source.get("type") == "url":
        block["url"] = require_str(source.get("url"), f"{where}.source.url")
    else:
        return None
    return {**block, **preserve_keys(PROVIDER, found, ("type", "source"))}


_READERS: dict[str, PartReader] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
