"""How pictures and other media are described where they cannot be shown."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def media_in_short(block: Mapping[str, Any]) -> str:
    """Return the type of a media block, its name, and its URL or size."""
    words = ["media", block["mime_type"], block.get("name"), block.get("url") or f"{media_size(block)} bytes"]
    return "  ".join(word for word in words if word)


def media_size(block: Mapping[str, Any]) -> int:
    """Return how many bytes the base64 of a media block encodes."""
    return len((block.get("data_base64") or "").rstrip("=")) * 3 // 4
