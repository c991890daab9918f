"""Converts parts of Gemini's API to neutral blocks.

The result is the same as that of ``reel load --format gemini``, so the parts go back to Google unchanged. A part
without a neutral form is kept whole.
"""

from typing import Any

from reel.blocks import ALLOWED
from reel.importing.blocks import call_block, opaque_block, result_block, text_block
from reel.importing.values import list_in, map_in, text_in
from reel.strict_json import Json, encode

PROVIDER = "gemini"
# The keys of an object that holds nothing but text.
_PLAIN = ("output", "result", "error")


def parts_in(content: Any) -> list[Any]:
    """Return content as a list of parts: it may be such a list, one part, or a text."""
    if type(content) is list:
        return content
    return [] if content in (None, "") else [content]


def read_part(part: Any, made: str, model: str = "") -> Json:
    """Convert a part.

    Args:
        part: the part.
        made: the id of a call that has neither an id nor a name.
        model: the model that generated it; empty if it is unknown, or if none did.
    """
    if type(part) is str:
        return text_block(part)
    if type(part) is not dict:
        return opaque_block({"value": part}, PROVIDER)
    block = _block(part, made)
    if block is None:
        return {**opaque_block(part, PROVIDER), **({"model": model} if model else {})}
    signature = text_in(part, "thoughtSignature")
    made_by = {"provider": PROVIDER, **({"model": model} if model else {})}
    signed = {**made_by, "signature": signature} if signature else {}
    if block["type"] == "thinking":
        return {**block, **made_by, **signed}
    return {**block, "provider_metadata": signed} if signed else block


def _block(part: Json, made: str) -> Json | None:
    if call := map_in(part, "functionCall"):
        name = text_in(call, "name")
        return call_block(text_in(call, "id") or name or made, name, call.get("args"))
    if response := map_in(part, "functionResponse"):
        return _result(response, made)
    if data := map_in(part, "inlineData") or map_in(part, "inline_data"):
        return _media(data, "data_base64", text_in(data, "data"))
    if data := map_in(part, "fileData"):
        return _media(data, "url", text_in(data, "fileUri"))
    if type(part.get("text")) is not str:
        return None
    if part.get("thought") is True:
        return {"type": "thinking", "text": part["text"]}
    return None if part["text"] == "" and part.get("thoughtSignature") else text_block(part["text"])


def _media(data: Json, key: str, given: str) -> Json | None:
    mime = text_in(data, "mimeType") or text_in(data, "mime_type") or "application/octet-stream"
    named = {"name": text_in(data, "displayName")} if text_in(data, "displayName") else {}
    return {"type": "media", "mime_type": mime, key: given, **named} if given else None


def _result(response: Json, made: str) -> Json:
    """Read a functionResponse: an object with a single text becomes this text, with the object kept beside it."""
    found = response.get("response")
    key, only = next(iter(found.items())) if type(found) is dict and len(found) == 1 else ("", None)
    is_plain = key in _PLAIN and type(only) is str
    said = only if is_plain and type(only) is str else encode({} if found is None else found)
    media = [fitting(read_part(part, ""), "tool_result") for part in list_in(response, "parts")]
    call_id = text_in(response, "id") or text_in(response, "name") or made or "call"
    block = result_block(call_id, [text_block(said), *media], is_error=key == "error")
    if type(found) is dict and not (is_plain and key != "output"):
        block["provider_metadata"] = {"provider": PROVIDER, "response_json": encode(found)}
    return block


def fitting(block: Json, holder: str) -> Json:
    """Convert a block to one that is allowed in a role or a result."""
    return block if block["type"] in ALLOWED[holder] else opaque_block(block, PROVIDER)
