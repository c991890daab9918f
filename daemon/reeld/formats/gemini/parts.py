"""Which blocks Gemini takes from whom, and what they become."""

import re
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.arguments import as_object
from reeld.formats.content import texts_of
from reeld.formats.dataurl import ANY_PICTURE, mime_of
from reeld.formats.families import foreign, same_family
from reeld.formats.format import Holder, Pair
from reeld.formats.model import Answer, Json

PROVIDER = "gemini"
# Google's own word for a call that never had a signature: made by another provider, or made up.
UNSIGNED = "skip_thought_signature_validator"
# The first version that wants its signatures back, and takes media in a result.
_SIGNING = 3
# The kinds of data of which a part has one.
_NEUTRAL = ("text", "functionCall", "functionResponse")
_MEDIA = ("inlineData", "fileData")
# What it reads of what others handed in: "Unsupported MIME type" is a 400, also for a GIF.
_READ = ("application/pdf", *(f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif")))
_READ_KINDS = ("audio/", "video/", "text/")
_DATA = (*_MEDIA, "executableCode", "codeExecutionResult", "toolCall", "toolResponse")
# What stands beside the data.
BESIDE = ("videoMetadata", "partMetadata", "audioTranscription", "mediaProcessing", "speechMetadata",
           "documentMetadata", "spreadsheetMetadata", "audioMetadata")  # fmt: skip
_SERVED = ("toolCall", "toolResponse")
_SIGNED = ("thought", "thoughtSignature")
# What media have.
_NAMED = ("data", "mimeType", "fileUri", "displayName")


def refuses(block: Json, holder: Holder, model: str | None) -> str | None:
    """Say why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _refuses_media(block, holder, model)
    if (why := foreign(block, PROVIDER, model)) is not None:
        return why
    if kind == "redacted_thinking":
        return "Gemini has no hidden thinking"
    if kind == "opaque":
        return _refuses_opaque(native.object_of(block), holder, model)
    return None if block["text"].strip() else "an empty thought"


def _refuses_media(block: Json, holder: Holder, model: str | None) -> str | None:
    if holder in ("result", "failed") and (not is_signing(model) or block.get("url") is not None):
        return "media in a result"
    return None if _is_read(block) else f"media of type {mime_of(block)}"


def _is_read(block: Json) -> bool:
    """Tell whether Gemini reads media of a type; what came from it, it does."""
    mime = mime_of(block)
    if (block.get("provider_metadata") or {}).get("provider") == PROVIDER:
        return True
    return mime in _READ or mime.startswith(_READ_KINDS) or (mime == ANY_PICTURE and block.get("url") is not None)


def _refuses_opaque(found: Json | None, holder: Holder, model: str | None) -> str | None:
    kinds = [key for key in found or {} if key in (*_NEUTRAL, *_DATA)]
    if found is None or len(kinds) > 1 or not (kinds or found.get("thoughtSignature")):
        return "an opaque block that is none of Gemini's"
    kind = kinds[0] if kinds else "a signature"
    if kinds and (kind in _NEUTRAL or not _is_whole(found[kind])):
        return "an opaque block that Gemini does not take back"
    if holder != "assistant" and kind not in _MEDIA:
        return f"{kind} cannot stand here"
    return "media in a result" if holder in ("result", "failed") and not is_signing(model) else None


def _is_whole(member: Any) -> bool:
    """Tell whether what a part carries is an object, and what must be one inside it."""
    return isinstance(member, dict) and all(isinstance(member.get(key, {}), dict) for key in ("args", "response"))


def leads(block: Json) -> bool:
    """A turn of nothing but thought would say nothing."""
    return str(block["type"]) == "thinking"


def pair(block: Json) -> Pair | None:
    """A server's tool call and its response have one id."""
    found = native.object_of(block) or {}
    kind = next((key for key in _SERVED if key in found), None)
    served = found[kind].get("id") if kind else None
    return Pair(str(served), is_call=kind == "toolCall") if served else None


def is_signing(model: str | None) -> bool:
    """Tell whether a model wants signatures back; one that is not known to be older does."""
    found = re.search(r"gemini-(\d+)", model or "")
    return found is None or int(found[1]) >= _SIGNING


def signature(block: Json, model: str | None) -> str | None:
    """Give the signature that Gemini put to a block, if this model made it."""
    metadata = block.get("provider_metadata") or {}
    if metadata.get("provider") == PROVIDER and same_family(metadata.get("model"), model):
        found = metadata.get("signature") or block.get("signature")
        return found if isinstance(found, str) else None
    own = block.get("signature") if block.get("provider") == PROVIDER else None
    return own if isinstance(own, str) else None


def written(block: Json, model: str | None) -> Json:
    """Give a block as a part."""
    part = _WRITERS[block["type"]](block)
    signed = signature(block, model)
    if signed:
        part["thoughtSignature"] = signed
    return part


def _text(block: Json) -> Json:
    return {"text": block["text"]}


def _thinking(block: Json) -> Json:
    return {"text": block["text"], "thought": True}


def _call(block: Json) -> Json:
    return {"functionCall": {"name": block["name"], "args": as_object(block["arguments"]), "id": block["id"]}}


def _media(block: Json) -> Json:
    named = {"displayName": block["name"]} if block.get("name") else {}
    beside = native.given_back(block.get("provider_metadata"), PROVIDER, BESIDE)
    mime = mime_of(block)
    if block.get("url") is not None:
        typed = {} if mime == ANY_PICTURE else {"mimeType": mime}
        return {"fileData": {"fileUri": block["url"], **typed, **named}, **beside}
    return {"inlineData": {"data": block["data_base64"], "mimeType": mime, **named}, **beside}


def _opaque(block: Json) -> Json:
    found = native.object_of(block) or {}
    part = {key: value for key, value in found.items() if key in (*_DATA, *BESIDE, *_SIGNED)}
    for key in _MEDIA:
        if key in part:
            part[key] = {name: value for name, value in part[key].items() if name in _NAMED}
    return part


_WRITERS = {"text": _text, "thinking": _thinking, "tool_call": _call, "media": _media, "opaque": _opaque}


def response(answer: Answer) -> Json:
    """Give a result as a part: Gemini's own object where it is one, else the text under a word."""
    found: Json = {"name": answer.call.name, "response": _object(answer), "id": answer.call.id}
    media = [_WRITERS[block["type"]](block) for block in answer.blocks if block["type"] != "text"]
    if media:
        found["parts"] = media
    return {"functionResponse": found}


def _object(answer: Answer) -> Json:
    own = native.given_back(answer.metadata, PROVIDER, ("response",)).get("response")
    if isinstance(own, dict):
        return own
    return {"error" if answer.failed else "result": texts_of(answer.blocks)}
