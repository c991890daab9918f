"""Files as blocks of a message: what a file is, by its first bytes and its name, and the block that has it."""

from __future__ import annotations

import os
import re

from reel.base.errors import InvalidParams
from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from os import PathLike

    from reel.said.messages import MediaBlock

# The beginnings of the types that providers take, with their names in MIME.
_BEGINNINGS = (
    (rb"\x89PNG\r\n\x1a\n", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"RIFF....WEBP", "image/webp"),
    (rb"....ftyp(heic|heix|mif1|msf1)", "image/heic"),
    (rb"....ftypavif", "image/avif"),
    (rb"%PDF-", "application/pdf"),
    (rb"RIFF....WAVE", "audio/wav"),
    (rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]", "audio/mpeg"),
    (rb"OggS", "audio/ogg"),
    (rb"fLaC", "audio/flac"),
    (rb"....ftypM4A", "audio/mp4"),
    (rb"\xff[\xf0\xf1\xf8\xf9]", "audio/aac"),
    (rb"....ftyp", "video/mp4"),
    (rb"\x1aE\xdf\xa3", "video/webm"),
)
# Longer than any beginning.
_LOOKED_AT = 32


class NotText(NamedTuple):
    """Why bytes are not a text: the first one that is wrong, and whether they are not even meant as one."""

    at: int
    is_binary: bool


def media_type(data: bytes) -> str | None:
    """Return the type of a picture, a document, a sound or a video; ``None`` for anything else."""
    beginning = data[:_LOOKED_AT]
    return next((name for sign, name in _BEGINNINGS if re.match(sign, beginning, re.DOTALL)), None)


def why_not_text(data: bytes) -> NotText | None:
    """Return why bytes are not UTF-8; ``None`` if they are."""
    if (nul := data.find(b"\0")) >= 0:
        return NotText(nul, is_binary=True)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return NotText(error.start, is_binary=False)
    return None


def media_block(data: bytes, mime_type: str, name: str | None = None) -> MediaBlock:
    """Return the block of some bytes."""
    from base64 import b64encode  # noqa: PLC0415 - only a message with a file needs it

    block: MediaBlock = {"type": "media", "mime_type": mime_type, "data_base64": b64encode(data).decode()}
    return {**block, "name": name} if name else block


def media(path: str | PathLike[str], mime_type: str | None = None) -> MediaBlock:
    """Return a file as a block of a message: a picture, a PDF, a sound or a video.

    Args:
        path: the file.
        mime_type: its type. Default: what its first bytes say.

    Raises:
        InvalidParams: it is none of these, and no type was given.
    """
    with open(path, "rb") as file:
        data = file.read()
    kind = mime_type or media_type(data)
    if kind is None:
        what = f"{os.fspath(path)} is no picture, PDF, sound or video"
        raise InvalidParams(f"{what}; give its mime_type, or add its text")
    return media_block(data, kind, os.path.basename(os.fspath(path)))
