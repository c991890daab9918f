"""Content blocks in Anthropic's words, as neutral blocks.

They become what ``reel load --format anthropic`` makes of them, so that they go back to Anthropic as they were. A block
without a neutral form is kept whole.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from reel.blocks import ALLOWED
from reel.importing.values import text_in
from reel.strict_json import Json, encode

PROVIDER = "anthropic"
_PDF = "application/pdf"
# A user's results become messages of their own.
_ALLOWED = {**ALLOWED, "user": (*ALLOWED["user"], "tool_result")}


def blocks_of(content: Any, holder: str, model: str = "") -> list[Json]:
    """Return content as neutral blocks.

    Args:
        content: a string or a list of blocks.
        holder: what has it: user, assistant or tool_result.
        model: the model that made it; empty if none did.
    """
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [_block(found, holder, model) for found in content] if type(content) is list else []


def by_role(blocks: list[Json], role: str) -> Iterator[tuple[str, list[Json]]]:
    """Yield blocks of a user's message in runs of one role: results are a tool's."""
    for is_result, run in groupby(blocks, lambda block: block["type"] == "tool_result"):
        yield "tool" if is_result else role, list(run)


def _block(found: Any, holder: str, model: str) -> Json:
    if type(found) is str:
        return {"type": "text", "text": found}
    if type(found) is not dict:
        return opaque({"type": "unknown", "value": found})
    read = _READERS.get(text_in(found, "type"))
    block = read(found) if read else None
    if block is None or block["type"] not in _ALLOWED[holder]:
        block = opaque(found)
    if model and block["type"] in ("thinking", "redacted_thinking", "opaque"):
        block["model"] = model
    return block


def opaque(found: Json, provider: str = PROVIDER) -> Json:
    """Return the block that keeps an object of a provider's as it is."""
    return {"type": "opaque", "provider": provider, "data_json": encode(found)}


def _text(found: Json) -> Json | None:
    return {"type": "text", "text": found["text"], **_kept(found, "text")} if text_in(found, "text") else _empty(found)


def _empty(found: Json) -> Json | None:
    return {"type": "text", "text": ""} if found.get("text") == "" else None


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
    arguments = given if type(given) is str else encode({} if given in (None, []) else given)
    kept = _kept(found, "id", "name", "input")
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments, **kept}


def _result(found: Json) -> Json | None:
    call_id, content = text_in(found, "tool_use_id"), found.get("content")
    if not call_id:
        return None
    blocks = blocks_of("" if content is None else content, "tool_result")
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return {
        "type": "tool_result",
        "tool_call_id": call_id,
        "content": blocks[0]["text"] if plain else blocks or "",
        "is_error": found.get("is_error") is True,
        **_kept(found, "tool_use_id", "content", "is_error"),
    }


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
