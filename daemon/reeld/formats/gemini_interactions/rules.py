"""The blocks that the Interactions API accepts from each role, and its requirements."""

from reel.base.strict_json import Json
from reel.providers.content import ANY_PICTURE, mime_of
from reel.providers.gemini import PROVIDER
from reel.providers.metadata import is_own
from reeld.formats.fields import why_continues
from reeld.formats.format import IN_RESULTS, LoopThinking, Position, ServerToolHalf
from reeld.formats.gemini.rules import is_signing, signature
from reeld.formats.gemini_interactions.steps import content_part, is_call, lone_signature, server_step
from reeld.formats.naming import signed_elsewhere, why_not_transferable

# The keys with which a request continues a history outside of its body (rule I8).
OUTSIDE = ("previous_interaction_id", "continuation_token")
# The media types that google-genai 3.4 defines (rule I7).
_OFFICE = "application/vnd."
_OPEN_XML = f"{_OFFICE}openxmlformats-officedocument."
_READABLE = frozenset(
    {
        *(f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif", "gif", "bmp", "tiff")),
        *(f"audio/{kind}" for kind in ("wav", "mp3", "aiff", "aac", "ogg", "flac", "mpeg", "m4a", "l16", "opus")),
        *(f"audio/{kind}" for kind in ("alaw", "mulaw", "webm")),
        *(f"video/{kind}" for kind in ("mp4", "mpeg", "mpg", "mov", "avi", "x-flv", "webm", "wmv", "3gpp")),
        *("application/pdf", "text/csv", "application/msword"),
        *(f"{_OFFICE}{kind}" for kind in ("ms-powerpoint", "ms-excel")),
        *(f"{_OFFICE}oasis.opendocument.{kind}" for kind in ("presentation", "text", "spreadsheet")),
        *(f"{_OPEN_XML}wordprocessingml.{kind}" for kind in ("document", "template")),
        *(f"{_OPEN_XML}{kind}" for kind in ("presentationml.presentation", "spreadsheetml.sheet")),
    }
)


def why_unsendable(dialect: str | None, block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _why_media_unsendable(block, position, model)
    if (why := why_not_transferable(block, PROVIDER, model)) is not None:
        return why
    if (other := signed_elsewhere(block, dialect)) and (kind == "thinking" or lone_signature(block)):
        return f"{'thinking' if kind == 'thinking' else 'a signature'} of {other}"
    if kind == "redacted_thinking":
        return "Gemini has no redacted thinking"
    if kind == "opaque":
        return _why_opaque_unsendable(block, position, model)
    return None if signature(block, model) else "a thought without a signature"  # rule I3


def _why_media_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    if position in IN_RESULTS and (not is_signing(model) or block.get("url") is not None):
        return "media in a result"  # rule I7
    mime = mime_of(block)
    is_linked_picture = mime == ANY_PICTURE and block.get("url") is not None
    return None if mime in _READABLE or is_own(block, PROVIDER) or is_linked_picture else f"media of type {mime}"


def _why_opaque_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    if (part := content_part(block)) is not None:
        in_result = position in IN_RESULTS and (not is_signing(model) or "uri" in part)
        return "media in a result" if in_result else None
    if server_step(block) is None and not lone_signature(block):
        return "an opaque block that is not a step or a content that the API accepts back"
    return None if position == "assistant" else "a step of the model's is not allowed here"


def must_precede_content(block: Json) -> bool:
    """Whether a block is a thought, which cannot form a turn alone."""
    return block["type"] == "thinking" or (block["type"] == "opaque" and lone_signature(block) is not None)


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a server's tool call a block is; the result names the id of the call (rule X9)."""
    step = server_step(block)
    if step is None:
        return None
    return ServerToolHalf(step["id"], is_call=True) if is_call(step) else ServerToolHalf(step["call_id"], is_call=False)


def unique_ids(block: Json) -> tuple[str, ...]:
    """Return the id of a server's tool call; two calls with one id are refused (rule I4)."""
    step = server_step(block)
    return (step["id"],) if step is not None and is_call(step) else ()


def why_invalid(extra: Json, _loop: LoopThinking | None, _model: str | None) -> str | None:
    """Return why ``extra`` cannot be sent: it continues a history on the server (rule I8)."""
    return why_continues(extra, OUTSIDE)
