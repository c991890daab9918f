"""The content of a message: a string, or parts of a few types, and the blocks that they become."""

from typing import Any

from reeld.formats import metadata as native
from reeld.formats.dataurl import ANY_PICTURE, media_from
from reeld.formats.fields import Json, entries_at, map_at, text_at
from reeld.formats.openai import PROVIDER

FORMAT = "openai-chat"
_SOUNDS = {"mp3": "audio/mpeg"}


def blocks_of(content: Any, where: str) -> list[Json]:
    """Read the content of a message; null and an empty list are no block at all."""
    if type(content) is str:
        return [text(content)]
    return [_block(part, f"{where}[{index}]") for index, part in enumerate(entries_at(content, where))]


def text(value: str, **metadata: Any) -> Json:
    """Make a text block."""
    return {"type": "text", "text": value, **native.keep(PROVIDER, metadata)}


def refusal(value: str) -> Json:
    """Make the text block of a refusal."""
    return text(value, refusal=True)


def own(part: Json) -> Json:
    """Keep what has no neutral form; it is of this API alone, not of the provider's other one."""
    return native.opaque(PROVIDER, part, format=FORMAT)


def _block(part: Any, where: str) -> Json:
    if type(part) is str:
        return text(part)
    kind = map_at(part, where).get("type")
    if kind == "text":
        return {
            "type": "text",
            "text": text_at(part.get("text"), f"{where}.text"),
            **native.keep(PROVIDER, part, ("type", "text")),
        }
    if kind == "refusal":
        return refusal(text_at(part.get("refusal"), f"{where}.refusal"))
    if kind == "image_url":
        return _image(part, where)
    if kind == "input_audio":
        return _sound(part, where)
    if kind == "file":
        return _file(part, where)
    return own(part)


def _media(block: Json, native_keys: Json, *without: str) -> Json:
    """Sign a media block: what came from this provider goes back to it as what it was."""
    kept = native.keep(PROVIDER, native_keys, ("type", *without)).get("provider_metadata")
    return {**block, "provider_metadata": kept or {"provider": PROVIDER}}


def _image(part: Json, where: str) -> Json:
    given = part.get("image_url")
    image = {"url": given} if type(given) is str else map_at(given, f"{where}.image_url")
    block = media_from(text_at(image.get("url"), f"{where}.image_url.url"), ANY_PICTURE)
    return _media(block, {**part, **image}, "image_url", "url")


def _sound(part: Json, where: str) -> Json:
    sound = map_at(part.get("input_audio"), f"{where}.input_audio")
    form = text_at(sound.get("format"), f"{where}.input_audio.format")
    data = text_at(sound.get("data"), f"{where}.input_audio.data")
    block = {"type": "media", "mime_type": _SOUNDS.get(form, f"audio/{form}"), "data_base64": data}
    return _media(block, part, "input_audio")


def _file(part: Json, where: str) -> Json:
    """Read a file that the part carries; one that the provider keeps is known to this provider only."""
    file = map_at(part.get("file"), f"{where}.file")
    if type(file.get("file_data")) is not str or not file["file_data"].startswith("data:"):
        return own(part)
    block = media_from(file["file_data"], "application/octet-stream")
    if file.get("filename") is not None:
        block["name"] = text_at(file["filename"], f"{where}.file.filename")
    return _media(block, part, "file")
