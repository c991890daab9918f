"""Reads the parts of messages in Kimi Code's form, and tells which of their fields are left out."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block
from reel.importing.values import as_map, map_in, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.content import ANY_PICTURE, media_from
from reel.providers.metadata import opaque_block
from reel.providers.openai_chat_reasoning import thought

NAME = "kimi-code"
# The parts that are media: the field with the address, and the MIME type if the address does not name it.
_MEDIA = {
    "image_url": ("imageUrl", ANY_PICTURE),
    "audio_url": ("audioUrl", "audio/*"),
    "video_url": ("videoUrl", "video/*"),
}
_ADDRESSES = ("data:", "https://", "http://")


def parts_in(content: Any) -> list[Any]:
    """Return the parts of a content, which is a list, or a text."""
    return content if type(content) is list else [] if content in (None, "") else [content]


def block_of(part: Any, model: str) -> Json:
    """Return the block of a part. A part of an unknown form is kept whole, and so is one that names a file."""
    kind = text_in(part, "type")
    if type(part) is str:
        return text_block(part)
    if kind == "text" and type(part.get("text")) is str:
        return text_block(part["text"])
    if kind == "think" and type(part.get("think")) is str:
        return thought(part["think"], model or None, encrypted=part.get("encrypted"))
    if kind in _MEDIA:
        field, mime = _MEDIA[kind]
        url = text_in(map_in(part, field), "url")
        if url.startswith(_ADDRESSES):
            return media_from(url, mime)
    return opaque_block(NAME, {"type": "unknown", **as_map(part)})


def left_out_of(parts: list[Any]) -> Iterator[str]:
    """Yield the fields of parts that their blocks lack; a part that is kept whole lacks none."""
    for part in parts:
        kind = text_in(part, "type")
        if type(part) is not dict or block_of(part, "")["type"] == "opaque":
            continue
        field = _MEDIA[kind][0] if kind in _MEDIA else kind
        yield from other_fields(part, {"type", field, "encrypted"}, f"{kind}.")
        if kind in _MEDIA:
            yield from other_fields(part[field], {"url", "id"}, f"{kind}.{field}.")


def call_of(found: Json, ident: str, arguments: Any) -> Json:
    """Return the block of a call, with what its provider wants back."""
    extras = found.get("extras")
    kept = {"provider_metadata": {"provider": NAME, "extras_json": encode(extras)}} if extras else {}
    return {**call_block(ident, text_in(found, "name"), arguments), **kept}
