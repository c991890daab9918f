"""Data URLs: how a request carries media in itself."""

import re
from typing import Any

# What a picture is of which a request says no more than its URL.
ANY_PICTURE = "image/*"
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),")


def mime_of(block: dict[str, Any]) -> str:
    """Give the type of a media block: what many call image/jpg has another name, and is refused under its own."""
    mime: str = block["mime_type"]
    return "image/jpeg" if mime == "image/jpg" else mime


def media_from(url: str, mime_type: str) -> dict[str, Any]:
    """Make the media block of a URL; the bytes of a data URL stand in the block itself.

    Args:
        url: any URL.
        mime_type: what it is where the URL does not say.
    """
    found = _DATA_URL.match(url)
    if found is None or not found[2].endswith(";base64"):
        return {"type": "media", "mime_type": mime_type, "url": url}
    return {"type": "media", "mime_type": found[1] or mime_type, "data_base64": url[found.end() :]}


def url_of(block: dict[str, Any]) -> str:
    """Give the URL of a media block: its own, or one that carries its bytes."""
    url: str | None = block.get("url")
    return url if url is not None else f"data:{mime_of(block)};base64,{block['data_base64']}"
