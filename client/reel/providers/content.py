"""Content in the forms that several APIs share: a text or a list of parts, and media as data URLs."""

import re

from reel.base.strict_json import Json

# The type of a picture for which a request has only a URL.
ANY_PICTURE = "image/*"
# The standard alphabet with padding, which every decoder accepts.
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
# From the alphabet for URLs to the standard one.
_FROM_URL_SAFE = str.maketrans("-_", "+/")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),")


def shortest(parts: list[Json]) -> str | list[Json]:
    """Return parts in the shortest form: a string if there is only one plain text or nothing, otherwise the list."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts or ""


def texts_of(blocks: list[Json]) -> str:
    """Return the texts of the text blocks, one per line."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def as_error(text: str) -> str:
    """Return the text of a failed result, for an API that has no field for failure."""
    return text if text.lower().startswith("error") else f"Error: {text}"


def media_title(name: str, call_id: str) -> str:
    """Return the title of a result's media that follow in a user message."""
    return f"Media of the result of {name} ({call_id}):"


def mime_of(block: Json) -> str:
    """Return the MIME type of a media block; ``image/jpg``, which no API accepts, becomes ``image/jpeg``."""
    mime: str = block["mime_type"]
    return "image/jpeg" if mime == "image/jpg" else mime


def is_base64(data: str) -> bool:
    """Return whether a text is valid base64, which APIs that decode it immediately require."""
    return _BASE64.fullmatch(data) is not None


def standard_base64(data: str) -> str:
    """Return base64 in the standard alphabet, with padding; what is not base64 is returned unchanged.

    Google's SDKs write bytes in the alphabet for URLs, which no other API reads.
    """
    if is_base64(data):
        return data
    bare = data.translate(_FROM_URL_SAFE).rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    return padded if is_base64(padded) else data


def media_from(url: str, mime_type: str) -> Json:
    """Return the media block for a URL. The bytes of a data URL go into the block itself.

    Args:
        url: any URL.
        mime_type: the type to use if the URL does not name one.
    """
    match = _DATA_URL.match(url)
    if match is None or not match[2].endswith(";base64"):
        return {"type": "media", "mime_type": mime_type, "url": url}
    return {"type": "media", "mime_type": match[1] or mime_type, "data_base64": url[match.end() :]}


def url_of(block: Json) -> str:
    """Return the URL of a media block: its own, or a data URL with its bytes."""
    url: str | None = block.get("url")
    return url if url is not None else f"data:{mime_of(block)};base64,{block['data_base64']}"
