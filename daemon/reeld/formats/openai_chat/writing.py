"""Blocks in the words of Chat Completions: content parts, calls and messages."""

import re
from collections.abc import Sequence

from reeld.formats import metadata as native
from reeld.formats.arguments import as_text
from reeld.formats.content import shortest
from reeld.formats.dataurl import url_of
from reeld.formats.format import Page
from reeld.formats.model import Json, Piece
from reeld.formats.openai import PROVIDER, filename, input_of

SOUNDS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav"}
_DETAILS = ("auto", "low", "high")
# What a speaker may be called, everywhere.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def part_of(block: Json) -> Json:
    """Give the content part of a block that this API takes."""
    mark = native.given_back(block.get("provider_metadata"), PROVIDER, ("prompt_cache_breakpoint",))
    if block["type"] == "opaque":
        return native.object_of(block) or {}
    if block["type"] == "media":
        return {**_media_part(block), **mark}
    return {"type": "text", "text": block["text"], **mark}


def _media_part(block: Json) -> Json:
    mime_type: str = block["mime_type"]
    if mime_type in SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": block["data_base64"], "format": SOUNDS[mime_type]}}
    if mime_type.startswith("image/"):
        detail = native.given_back(block.get("provider_metadata"), PROVIDER, ("detail",))
        how = detail if detail.get("detail") in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": url_of(block), **how}}
    return {"type": "file", "file": {"filename": filename(block), "file_data": url_of(block)}}


def content_of(blocks: Sequence[Json]) -> str | list[Json]:
    """Give the content of a message."""
    return shortest([part_of(block) for block in blocks])


def words(pieces: Sequence[Piece], page: Page) -> Json:
    """Give the message of somebody who is not the assistant: a user's, or that of a role above where it is text.

    Args:
        pieces: what is said in one message.
        page: what it is written with; a role or a name that cannot be sent is reported there.
    """
    blocks = [piece.block for piece in pieces]
    kept = native.given_back(pieces[0].metadata, PROVIDER, ("name",))
    role = pieces[0].above or "user"
    if role != "user" and (not knows_roles(page.model) or any(block["type"] != "text" for block in blocks)):
        page.note(pieces[0], "downgraded", f"a {role} message is the user's here")
        role = "user"
    return {"role": role, "content": content_of(blocks), **named(pieces[0], kept, page)}


def named(piece: Piece, kept: Json, page: Page) -> Json:
    """Give the name of a speaker, where it can be sent."""
    name = kept.get("name")
    if name is None or _NAME.fullmatch(str(name)):
        return {"name": name} if name is not None else {}
    page.note(piece, "dropped", f"{name!r} is no name that is taken everywhere")
    return {}


def knows_roles(model: str | None) -> bool:
    """Tell whether a model knows the roles system and developer; the first o1 models do not."""
    return re.match(r"o1-(mini|preview)", model or "") is None


def call_of(block: Json) -> Json:
    """Give a call, in the kind in which it was made."""
    if native.given_back(block.get("provider_metadata"), PROVIDER, ("type",)) == {"type": "custom_tool_call"}:
        custom = {"name": block["name"], "input": input_of(block["arguments"])}
        return {"id": block["id"], "type": "custom", "custom": custom}
    function = {"name": block["name"], "arguments": as_text(block["arguments"])}
    return {"id": block["id"], "type": "function", "function": function}
