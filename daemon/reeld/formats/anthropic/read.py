"""Reads requests and responses of Anthropic's API: both have the same blocks."""

from typing import Any

from reel.providers.content import ANY_PICTURE, shortest
from reel.providers.metadata import opaque_object
from reel.strict_json import Json
from reeld.formats.anthropic.rules import ANSWERED, PDF, PROVIDER, is_known
from reeld.formats.fields import (
    Element,
    LoadedRequest,
    Response,
    history_of,
    invalid_at,
    raise_provider_error,
    require_str,
    usage_in,
)
from reeld.formats.history_builder import (
    HistoryBuilder,
    PartReader,
    blocks_of,
    by_type,
    text_part,
    tool_call,
    tool_result,
)
from reeld.formats.model import INSTRUCTION_ROLES

_API = "Anthropic Messages"


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    for found in history_of(body, "messages", _API):
        _add(builder, found)
    prompt = _blocks(body.get("system") or None, "system", None)
    return builder.loaded(body, ("messages", "system", "model"), prompt)


def _add(builder: HistoryBuilder, found: Element) -> None:
    """Add one message: one for each role that its blocks belong to."""
    role = found.role(_API)
    speaker = "assistant" if role == "assistant" else "user"
    model = builder.model if role == "assistant" else None
    blocks = _blocks(found.get("content"), found.at("content"), model)
    builder.add_by_role(blocks, speaker, found.kept(PROVIDER, "content") if role in INSTRUCTION_ROLES else {})


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
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
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
    """Read content.

    Args:
        content: a string, or a list of blocks.
        where: its place, for errors.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
    """

    def read(found: Element) -> Json:
        block = by_type(_READERS, PROVIDER, found)
        if model is not None and block["type"] in ("thinking", "redacted_thinking", "opaque"):
            block["model"] = model
        return block

    return blocks_of(content, where, read)


def _text(found: Element) -> Json:
    return text_part(PROVIDER, found)


def _thinking(found: Element) -> Json:
    block = {"type": "thinking", "text": found.text("thinking"), "provider": PROVIDER}
    return block if found.get("signature") is None else {**block, "signature": found.text("signature")}


def _redacted(found: Element) -> Json:
    return {"type": "redacted_thinking", "data": found.text("data"), "provider": PROVIDER}


def _call(found: Element) -> Json:
    kept = found.kept(PROVIDER, "type", "id", "name", "input")
    return tool_call(found.text("id"), found.text("name"), found.get("input"), kept)


def _result(found: Element) -> Json:
    content = shortest(_blocks(found.get("content"), found.at("content"), None))
    kept = found.kept(PROVIDER, "type", "tool_use_id", "content", "is_error")
    return tool_result(found.text("tool_use_id"), content, kept, failed=found.get("is_error") is True)


def _media(found: Element) -> Json | None:
    """Read an image or a PDF as bytes or as a URL. Other sources, such as uploaded files, are Anthropic's own."""
    kind, source = found.value["type"], found.inside("source")
    mime = source.get("media_type") or (PDF if kind == "document" else ANY_PICTURE)
    if kind == "document" and mime != PDF:
        return None
    block: Json = {"type": "media", "mime_type": require_str(mime, source.at("media_type"))}
    if source.get("type") == "base64":
        block["data_base64"] = source.text("data")
    elif source.get("type") == "url":
        block["url"] = source.text("url")
    else:
        return None
    return {**block, **found.kept(PROVIDER, "type", "source")}


_READERS: dict[str, PartReader] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
