"""The blocks that Ollama's API accepts from each role."""

from reel.base.strict_json import Json
from reel.providers.content import is_base64, mime_of
from reel.providers.metadata import is_own
from reeld.formats.format import Position
from reeld.formats.naming import why_not_transferable

PROVIDER = "ollama"
# The pictures that it reads (rule O3).
_PICTURES = ("image/png", "image/jpeg", "image/webp")


def why_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block that is not a text cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _why_media_unsendable(block, position)
    if (why := why_not_transferable(block, PROVIDER, model)) is not None:
        return why
    if kind != "thinking":
        return f"Ollama has no {'opaque blocks' if kind == 'opaque' else 'redacted thinking'}"
    return None if block["text"].strip() else "an empty thought"


def _why_media_unsendable(block: Json, position: Position) -> str | None:
    """Return why media cannot be sent (rule O3)."""
    mime = mime_of(block)
    if position == "assistant":
        return "media from the assistant"
    if position != "user":
        return "media in a result"
    if block.get("data_base64") is None:
        return "media by URL; Ollama accepts only the bytes"
    if not is_base64(block["data_base64"]):
        return "media that are not base64"
    return None if mime in _PICTURES or is_own(block, PROVIDER) else f"media of type {mime}"
