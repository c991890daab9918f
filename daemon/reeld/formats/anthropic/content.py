"""Content of Anthropic's API, read: the same blocks in an answer and in a request."""

from collections.abc import Callable
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.anthropic.blocks import PROVIDER
from reeld.formats.content import shortest
from reeld.formats.dataurl import ANY_PICTURE
from reeld.formats.fields import Json, arguments_of, entries_at, map_at, text_at


def blocks_of(content: Any, where: str, model: str | None) -> list[Json]:
    """Read content: a string is one text; what has no neutral form is kept whole.

    Args:
        content: a string, or a list of blocks.
        where: its place, for errors.
        model: who made it; ``None`` where that is not known, or where nobody did (a user's words).
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        _block(_object_at(found, f"{where}[{index}]"), f"{where}[{index}]", model)
        for index, found in enumerate(entries_at(content, where))
    ]


def _object_at(value: Any, where: str) -> Json:
    """Take a block; a bare string is a text."""
    return {"type": "text", "text": value} if type(value) is str else map_at(value, where)


def _block(found: Json, where: str, model: str | None) -> Json:
    read = _READERS.get(str(found.get("type")))
    block = read(found, where) if read else None
    if block is None:
        block = native.opaque(PROVIDER, found)
    if model is not None and block["type"] in ("thinking", "redacted_thinking", "opaque"):
        block["model"] = model
    return block


def _text(found: Json, where: str) -> Json:
    kept = native.keep(PROVIDER, found, ("type", "text"))
    return {"type": "text", "text": text_at(found.get("text"), f"{where}.text"), **kept}


def _thinking(found: Json, where: str) -> Json:
    block = {"type": "thinking", "text": text_at(found.get("thinking"), f"{where}.thinking"), "provider": PROVIDER}
    signature = found.get("signature")
    return {**block, "signature": text_at(signature, f"{where}.signature")} if signature is not None else block


def _redacted(found: Json, where: str) -> Json:
    return {"type": "redacted_thinking", "data": text_at(found.get("data"), f"{where}.data"), "provider": PROVIDER}


def _call(found: Json, where: str) -> Json:
    """Read a call; an input that broke off is the text that came of it."""
    return {
        "type": "tool_call",
        "id": text_at(found.get("id"), f"{where}.id"),
        "name": text_at(found.get("name"), f"{where}.name"),
        "arguments": arguments_of(found.get("input")),
        **native.keep(PROVIDER, found, ("type", "id", "name", "input")),
    }


def _result(found: Json, where: str) -> Json:
    content = found.get("content")
    blocks = blocks_of("" if content is None else content, f"{where}.content", None)
    return {
        "type": "tool_result",
        "tool_call_id": text_at(found.get("tool_use_id"), f"{where}.tool_use_id"),
        "content": shortest(blocks),
        "is_error": found.get("is_error") is True,
        **native.keep(PROVIDER, found, ("type", "tool_use_id", "content", "is_error")),
    }


def _media(found: Json, where: str) -> Json | None:
    """Read an image or a PDF that carries itself or is linked to; other sources are Anthropic's own."""
    kind, source = found["type"], map_at(found.get("source"), f"{where}.source")
    mime = source.get("media_type") or ("application/pdf" if kind == "document" else ANY_PICTURE)
    if kind == "document" and mime != "application/pdf":
        return None
    block: Json = {"type": "media", "mime_type": text_at(mime, f"{where}.source.media_type")}
    if source.get("type") == "base64":
        block["data_base64"] = text_at(source.get("data"), f"{where}.source.data")
    elif source.get("type") == "url":
        block["url"] = text_at(source.get("url"), f"{where}.source.url")
    else:
        return None
    return {**block, **native.keep(PROVIDER, found, ("type", "source"))}


_READERS: dict[str, Callable[[Json, str], Json | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
