"""Reads the blocks of Anthropic's API."""

from collections.abc import Sequence
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import PartReader, blocks_of, by_type, text_part, tool_call, tool_result
from reel.providers.content import ANY_PICTURE, shortest
from reel.providers.elements import Element, require_str
from reel.providers.message_builder import MessageBuilder
from reel.providers.metadata import opaque_block, opaque_object, preserve_keys
from reel.providers.refusals import Refusals
from reel.providers.roles import INSTRUCTION_ROLES

PROVIDER = "anthropic"
PDF = "application/pdf"
API = "Anthropic Messages"
# The type of the block between what a model said that declined, and what another one answered.
FALLBACK = "fallback"
# The type of what a model says between its calls, which is checked as thinking is.
CONNECTOR_TEXT = "connector_text"


def read_message(builder: MessageBuilder, found: Element) -> None:
    """Add one message: one for each role that its blocks belong to."""
    role = found.role(API)
    speaker = "assistant" if role == "assistant" else "user"
    model = builder.model if role == "assistant" else None
    blocks = read_blocks(found.get("content"), found.at("content"), model, found.refusals)
    builder.add_by_role(blocks, speaker, found.kept(PROVIDER, "content") if role in INSTRUCTION_ROLES else {})


def read_blocks(content: Any, where: str, model: str | None, refusals: Refusals | None = None) -> list[Json]:
    """Read content.

    Args:
        content: a string, or a list of blocks.
        where: its place, for errors.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
        refusals: what keeps a block that is refused; ``None`` if that is an error.
    """
    # What one model said before another took over: its calls are not to be answered (rule A17).
    takeover = _last_fallback(content) if type(content) is list and len(content) > 1 else None

    def read(found: Element) -> Json:
        nonlocal takeover
        block = by_type(_READERS, PROVIDER, found)
        if found.value is takeover:
            takeover = None
        elif takeover is not None and block["type"] == "tool_call":
            block = opaque_block(PROVIDER, found.value)
        if model is not None and block["type"] in ("thinking", "redacted_thinking", "opaque"):
            block["model"] = model
        return block

    return blocks_of(content, where, read, refusals)


def _last_fallback(content: list[Any]) -> Json | None:
    """Return the last block of a list that says that another model took over."""
    for part in reversed(content):
        if type(part) is dict and part.get("type") == FALLBACK:
            found: Json = part
            return found
    return None


def declined_blocks(blocks: Sequence[Json]) -> int | None:
    """Return how many blocks of an answer come before the last one that says that another model took over, if any."""
    return next((index for index in reversed(range(len(blocks))) if _is_opaque(blocks[index], FALLBACK)), None)


def is_connector_text(block: Json) -> bool:
    """Return whether a block is what a model said between its calls (rule A21)."""
    return _is_opaque(block, CONNECTOR_TEXT)


def _is_opaque(block: Json, kind: str) -> bool:
    """Return whether a block is one of Anthropic's own of a type; most are not, and are not parsed."""
    if block["type"] != "opaque" or block["provider"] != PROVIDER or f'"{kind}"' not in block["data_json"]:
        return False
    return (opaque_object(block) or {}).get("type") == kind


def _text(found: Element) -> Json:
    return text_part(PROVIDER, found)


def _thinking(found: Element) -> Json:
    signed = {} if found.get("signature") is None else {"signature": found.text("signature")}
    kept = found.kept(PROVIDER, "type", "thinking", "signature")
    return {"type": "thinking", "text": found.text("thinking"), "provider": PROVIDER, **signed, **kept}


def _redacted(found: Element) -> Json:
    kept = found.kept(PROVIDER, "type", "data")
    return {"type": "redacted_thinking", "data": found.text("data"), "provider": PROVIDER, **kept}


def _call(found: Element) -> Json:
    kept = found.kept(PROVIDER, "type", "id", "name", "input")
    return tool_call(found.text("id"), found.text("name"), found.get("input"), kept)


def _result(found: Element) -> Json:
    content = found.get("content")
    if type(content) is not str:
        content = shortest(read_blocks(content, found.at("content"), None, found.refusals))
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
    # With what the source has beside that; most have nothing.
    rest = {key: value for key, value in source.value.items() if key not in ("type", "media_type", "data", "url")}
    return {**block, **preserve_keys(PROVIDER, {**found.value, "source": rest}, ("type",))}


_READERS: dict[str, PartReader] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
