"""Media for Converse: a format from its own list, and bytes or a location in Amazon S3 (rule B6)."""

import re

from reel.base.strict_json import Json
from reel.providers.content import is_base64, mime_of
from reel.providers.metadata import is_own
from reeld.formats.bedrock_converse.models import is_nova, takes_status
from reeld.formats.format import Position

_OWN = "bedrock"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# The kind of block and the format of each MIME type.
FORMATS = {
    **{f"image/{name}": ("image", name) for name in ("png", "jpeg", "gif", "webp")},
    "application/pdf": ("document", "pdf"),
    "text/csv": ("document", "csv"),
    "application/msword": ("document", "doc"),
    _WORD: ("document", "docx"),
    "application/vnd.ms-excel": ("document", "xls"),
    _SHEET: ("document", "xlsx"),
    "text/html": ("document", "html"),
    "text/plain": ("document", "txt"),
    "text/markdown": ("document", "md"),
    **{f"video/{name}": ("video", name) for name in ("mp4", "webm", "mpeg")},
    "video/x-matroska": ("video", "mkv"),
    "video/quicktime": ("video", "mov"),
    "video/x-flv": ("video", "flv"),
    "video/x-ms-wmv": ("video", "wmv"),
    "video/3gpp": ("video", "three_gp"),
    **{f"audio/{name}": ("audio", name) for name in ("wav", "opus", "aac", "flac", "ogg", "webm")},
    "audio/mpeg": ("audio", "mp3"),
    "audio/mp4": ("audio", "m4a"),
}
MIME_TYPES = {found: mime for mime, found in FORMATS.items()}
# The formats of each kind of block; some have no separate MIME type.
_WRITTEN = {
    "image": ("png", "jpeg", "gif", "webp"),
    "document": ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"),
    "video": ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"),
    "audio": (
        *("mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm"),
        "webm",
    ),
}
# The allowed sources of each kind of block.
SOURCES = {
    **dict.fromkeys(("image", "video", "audio"), ("bytes", "s3Location")),
    "document": ("bytes", "s3Location", "text", "content"),
}
_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
# The refused characters of a name, and its maximum length (rule B6).
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9()\[\]-]+")
_EXTENSION = re.compile(r"(?<=.)\.[a-zA-Z0-9]{1,5}$")
_LONGEST = 190


def why_media_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why media cannot be sent (rules B5 and B6)."""
    mime = mime_of(block)
    kind, _ = FORMATS.get(mime, ("", ""))
    if position == "assistant":
        return "media from the assistant"
    if position == "failed_result" or (position == "result" and not (kind == "image" and takes_status(model))):
        return "media in a result"
    if not kind or (kind == "audio" and not is_own(block, _OWN)):
        return f"media of type {mime}"
    if kind == "video" and not (is_own(block, _OWN) or is_nova(model)):
        return f"media of type {mime}; only Nova reads it"
    return _why_source_unsendable(block)


def _why_source_unsendable(block: Json) -> str | None:
    if block.get("url") is not None:
        return None if _S3.fullmatch(block["url"]) else "media by URL; Bedrock accepts only bytes, and files in S3"
    return None if is_base64(block["data_base64"]) else "media that are not base64"


def is_source(kind: str, found: Json) -> bool:
    """Whether a block of a kind has an existing format, and exactly one existing source."""
    source: Json = found["source"]
    written = found.get("format")
    if len(source) != 1 or not (written in _WRITTEN[kind] or (kind == "document" and written is None)):
        return False
    ((key, value),) = source.items()
    if key == "bytes":
        return type(value) is str and is_base64(value)
    return key in SOURCES[kind] and type(value) is {"text": str, "content": list}.get(key, dict)


def media_block(block: Json, name: str | None) -> Json:
    """Return the block of media.

    Args:
        block: the media.
        name: the name of a document, which must have one.
    """
    kind, written = FORMATS[mime_of(block)]
    url = block.get("url")
    source = {"bytes": block["data_base64"]} if url is None else {"s3Location": {"uri": url}}
    return {kind: {"format": written, **({"name": name} if kind == "document" else {}), "source": source}}


def document_name(given: str | None, used: dict[str, None]) -> str:
    """Return the name under which a document is sent, and record it: neutral characters, unique (rule B6).

    Args:
        given: its own name, if it has one.
        used: the names that were sent, in lower case: names that differ only in case count as equal.
    """
    neutral = _NOT_IN_NAME.sub(" ", _EXTENSION.sub("", given or ""))[:_LONGEST].strip() or "document"
    name, number = neutral, 1
    while name.lower() in used:
        number += 1
        name = f"{neutral} {number}"
    used[name.lower()] = None
    return name
