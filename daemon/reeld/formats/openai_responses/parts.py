"""The content of a message or an output of Responses: a string, or parts, and the blocks that they become."""

from typing import Any

from reeld.formats import metadata as native
from reeld.formats.dataurl import ANY_PICTURE, media_from
from reeld.formats.fields import Json, entries_at, map_at, text_at
from reeld.formats.openai import PROVIDER


def blocks_of(content: Any, where: str) -> list[Json]:
    """Read a content; null and an empty list are no block at all."""
    if type(content) is str:
        return [text(content)]
    return [_block(part, f"{where}[{index}]") for index, part in enumerate(entries_at(content, where))]


def text(value: str) -> Json:
    """Make a text block."""
    return {"type": "text", "text": value}


def _block(part: Any, where: str) -> Json:
    if type(part) is str:
        return text(part)
    kind = map_at(part, where).get("type")
    if kind in ("input_text", "output_text", "text"):
        return {**text(text_at(part.get("text"), f"{where}.text")), **native.keep(PROVIDER, part, ("type", "text"))}
    if kind == "refusal":
        return {
            **text(text_at(part.get("refusal"), f"{where}.refusal")),
            **native.keep(PROVIDER, {**part, "refusal": True}, ("type",)),
        }
    if kind == "input_image" and type(part.get("image_url")) is str:
        return _media(media_from(part["image_url"], ANY_PICTURE), part, "image_url")
    if kind == "input_file" and (block := _file(part)) is not None:
        return block
    return native.opaque(PROVIDER, part)


def _file(part: Json) -> Json | None:
    """Read a file that the part carries or links to; one that the provider keeps is known to this provider only."""
    data, url, name = part.get("file_data"), part.get("file_url"), part.get("filename")
    if type(data) is str and data.startswith("data:"):
        block = media_from(data, "application/octet-stream")
    elif type(url) is str:
        block = media_from(url, "application/octet-stream")
    else:
        return None
    named = {"name": name} if type(name) is str else {}
    return _media({**block, **named}, part, "file_data", "file_url", "filename")


def _media(block: Json, part: Json, *without: str) -> Json:
    """Sign a media block: what came from this provider goes back to it as what it was."""
    kept = native.keep(PROVIDER, part, ("type", *without)).get("provider_metadata")
    return {**block, "provider_metadata": kept or {"provider": PROVIDER}}
