"""The parts that Gemini's API accepts from each role, and its requirements."""

import re
from functools import lru_cache
from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import ANY_PICTURE, mime_of
from reel.providers.gemini import BESIDE_DATA, PROVIDER
from reel.providers.metadata import is_own, opaque_object
from reeld.formats.format import IN_RESULTS, Position, ServerToolHalf
from reeld.formats.model import is_thought
from reeld.formats.naming import reads, signed_elsewhere, why_not_transferable

# The first version that requires its signatures back (rule G3) and accepts media in a result (rule G7).
_SIGNING_SINCE = 3
# The kinds of data, exactly one of which is in a part (rule G5): those with a neutral form, media, and all others.
_NEUTRAL = ("text", "functionCall", "functionResponse")
MEDIA = ("inlineData", "fileData")
_SERVER_TOOL = ("toolCall", "toolResponse")
_DATA = (*MEDIA, "executableCode", "codeExecutionResult", *_SERVER_TOOL)
_SIGNATURE = ("thought", "thoughtSignature")
_MEDIA_KEYS = ("data", "mimeType", "fileUri", "displayName")
# The media that it reads (rule G6).
_READABLE = ("application/pdf", *(f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif")))
_READABLE_KINDS = ("audio/", "video/", "text/")


def why_unsendable(dialect: str | None, block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _why_media_unsendable(block, position, model)
    if (why := why_not_transferable(block, PROVIDER, model)) is not None:
        return why
    if (other := signed_elsewhere(block, dialect)) and (kind == "thinking" or _is_only_signed(block)):
        return f"{'thinking' if kind == 'thinking' else 'a signature'} of {other}"
    if kind == "redacted_thinking":
        return "Gemini has no redacted thinking"
    if kind == "opaque":
        return _why_opaque_unsendable(opaque_object(block), position, model)
    return None if block["text"].strip() or block.get("signature") else "an empty thought"


def _is_only_signed(block: Json) -> bool:
    """Whether a block kept whole has no data, only a signature."""
    return block["type"] == "opaque" and not any(key in (opaque_object(block) or {}) for key in _DATA)


def must_precede_content(block: Json) -> bool:
    """Whether a block belongs to what comes after it: a thought does that is not a signature alone (rule G3)."""
    return is_thought(block) and not (block.get("signature") and not block["text"].strip())


def _why_media_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    if position in IN_RESULTS and (not is_signing(model) or block.get("url") is not None):
        return "media in a result"  # rule G7
    return None if _is_readable(block) else f"media of type {mime_of(block)}"


def _is_readable(block: Json) -> bool:
    """Whether Gemini reads media of a type; it does if the media came from Gemini (rule G6)."""
    mime = mime_of(block)
    if is_own(block, PROVIDER):
        return True
    is_linked_picture = mime == ANY_PICTURE and block.get("url") is not None
    return mime in _READABLE or mime.startswith(_READABLE_KINDS) or is_linked_picture


def _why_opaque_unsendable(part: Json | None, position: Position, model: str | None) -> str | None:
    kinds = [key for key in part or {} if key in (*_NEUTRAL, *_DATA)]
    if part is None or len(kinds) > 1 or not (kinds or part.get("thoughtSignature")):
        return "an opaque block that is not a part of Gemini's"
    kind = kinds[0] if kinds else "a signature"
    if kinds and (kind in _NEUTRAL or not _is_complete(part[kind])):
        return "an opaque block that Gemini does not accept"
    if position != "assistant" and kind not in MEDIA:
        return f"{kind} is not allowed here"
    return "media in a result" if position in IN_RESULTS and not is_signing(model) else None


def _is_complete(data: Any) -> bool:
    """Whether the data of a part are an object, and so are the members that must be objects (rule G4)."""
    return type(data) is dict and all(type(data.get(key, {})) is dict for key in ("args", "response"))


def accepted_keys(part: Json) -> Json:
    """Return an opaque part without the keys that the API does not know and therefore refuses (rule G5)."""
    accepted = {key: value for key, value in part.items() if key in (*_DATA, *BESIDE_DATA, *_SIGNATURE)}
    for key in MEDIA:
        if key in accepted:
            accepted[key] = {name: value for name, value in accepted[key].items() if name in _MEDIA_KEYS}
    return accepted


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a server's tool call a block is; both halves have one id (rule X9)."""
    part = opaque_object(block) or {}
    kind = next((key for key in _SERVER_TOOL if key in part), None)
    call_id = part[kind].get("id") if kind else None
    return ServerToolHalf(str(call_id), is_call=kind == "toolCall") if call_id else None


@lru_cache(maxsize=64)  # every call is asked about
def is_signing(model: str | None) -> bool:
    """Whether a model requires signatures back; an unknown model does (rule G3)."""
    match = re.search(r"gemini-(\d+)", model or "")
    return match is None or int(match[1]) >= _SIGNING_SINCE


def signature(block: Json, model: str | None, dialect: str | None = None) -> str | None:
    """Return the signature of a block if this model made it, in this dialect (rules G3, G13 and X7)."""
    metadata = block.get("provider_metadata") or {}
    if (not metadata and "signature" not in block) or signed_elsewhere(block, dialect):
        return None
    if metadata.get("provider") == PROVIDER and reads(model, metadata.get("model"), metadata):
        found = metadata.get("signature") or block.get("signature")
        return found if type(found) is str else None
    own = block.get("signature") if block.get("provider") == PROVIDER else None
    return own if type(own) is str else None
