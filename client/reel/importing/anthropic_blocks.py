"""Converts content blocks in Anthropic's format to neutral blocks.

The result is the same as that of ``reel load --format anthropic``, so the blocks go back to Anthropic unchanged. A
block without a neutral form is kept whole.
"""

from collections.abc import Callable
from typing import Any

from reel.blocks import ALLOWED
from reel.importing.blocks import call_block, opaque_block, result_block, text_block
from reel.importing.values import text_in
from reel.strict_json import Json, encode

PROVIDER = "anthropic"
_PDF = "application/pdf"
# A user's results become messages of their own.
_ALLOWED = {**ALLOWED, "user": (*ALLOWED["user"], "tool_result")}


def blocks_of(content: Any, holder: str, model: str = "") -> list[Json]:
    """Convert content to neutral blocks.

    Args:
        content: a string or a list of blocks.
        holder: what contains it: user, assistant or tool_result.
        model: the model that generated it; empty if none did.
    """
    if type(content) is str:
        return [text_block(content)]
    return [_block(found, holder, model) for found in content] if type(content) is list else []


def _block(found: Any, holder: str, model: str) -> Json:
    if type(found) is str:
        return text_block(found)
    if type(found) is not dict:
        return opaque_block({"type": "unknown", "value": found}, PROVIDER)
    read = _READERS.get(text_in(found, "type"))
    block = read(found) if read else None
    if block is None or block["type"] not in _ALLOWED[holder]:
        block = opaque_block(found, PROVIDER)
    if model and block["type"] in ("thinking", "redacted_thinking", "opaque"):
        block["model"] = model
    return block


def _text(found: Json) -> Json | None:
    return {**text_block(found["text"]), **_kept(found, "text")} if text_in(found, "text") else _empty(found)


def _empty(found: Json) -> Json | None:
    return text_block("") if found.get("text") == "" else None


def _thinking(found: Json) -> Json | None:
    if type(found.get("thinking")) is not str:
        return None
    signature = text_in(found, "signature")
    signed = {"signature": signature} if signature else {}
    return {"type": "thinking", "text": found["thinking"], "provider": PROVIDER, **signed}


def _redacted(found: Json) -> Json | None:
    data = text_in(found, "data")
    return {"type": "redacted_thinking", "data": data, "provider": PROVIDER} if data else None


def _call(found: Json) -> Json | None:
    call_id, name = text_in(found, "id"), text_in(found, "name")
    if not (call_id and name):
        return None
    given = found.get("input")
    call = call_block(call_id, name, None if given == [] else given)
    return {**call, **_kept(found, "id", "name", "input")}


def _result(found: Json) -> Json | None:
    call_id, content = text_in(found, "tool_use_id"), found.get("content")
    if not call_id:
        return None
    blocks = blocks_of("" if content is None else content, "tool_result")
    result = result_block(call_id, blocks, is_error=found.get("is_error") is True)
    return {**result, **_kept(found, "tool_use_id", "content", "is_error")}


def _media(found: Json) -> Json | None:
    source = found.get("source")
    mime = text_in(source, "media_type") or (_PDF if found["type"] == "document" else "image/*")
    if found["type"] == "document" and mime != _PDF:
        return None
    for kind, field, neutral in (("base64", "data", "data_base64"), ("url", "url", "url")):
        if text_in(source, "type") == kind and text_in(source, field):
            return {"type": "media", "mime_type": mime, neutral: text_in(source, field), **_kept(found, "source")}
    return None


def _kept(found: Json, *without: str) -> Json:
    """Return the other keys of a block as metadata; nested values as JSON text, as the daemon keeps them."""
    kept: Json = {}
    for key, value in found.items():
        if key in ("type", "provider", *without) or value in (None, [], {}, ""):
            continue
        if type(value) in (dict, list):
            kept[f"{key}_json"] = encode(value)
        else:
            kept[key] = value
    return {"provider_metadata": {"provider": PROVIDER, **kept}} if kept else {}


_READERS: dict[str, Callable[[Json], Json | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
