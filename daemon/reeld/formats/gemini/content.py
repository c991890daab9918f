"""Contents of Gemini's API, read: the same parts in an answer and in a request, in both spellings of their keys."""

import re
from collections.abc import Callable
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.fields import Json, arguments_of, entries_at, map_at, text_at
from reeld.formats.gemini.parts import BESIDE, PROVIDER

_HUMP = re.compile(r"(?<=[a-z])_([a-z])")
# Where Google keeps what is uploaded to it: nobody else can read there.
_STORED = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")


def camel(found: Json) -> Json:
    """Spell an object's own keys as JSON does; null is what is not there."""
    return {_HUMP.sub(lambda match: match[1].upper(), key): value for key, value in found.items() if value is not None}


def part_at(value: Any, where: str) -> Json:
    """Take a part, its keys and those of what it carries spelt as JSON does; a bare string is a text."""
    value = {"text": value} if type(value) is str else value
    return {
        key: camel(inside) if isinstance(inside, dict) else inside
        for key, inside in camel(map_at(value, where)).items()
    }


def block_of(part: Json, where: str, call_id: str, model: str | None) -> Json:
    """Read a part that is no functionResponse; what has no neutral form is kept whole.

    Args:
        part: the part, as :func:`part_at` gives it.
        where: its place, for errors.
        call_id: the id of a call that has none.
        model: who made it; ``None`` where that is not known, or where nobody did (a user's words).
    """
    kind = next((key for key in _READERS if key in part), None)
    block = _READERS[kind](part, where) if kind else None
    if block is None:
        return _opaque(part, model)
    if block["type"] == "tool_call" and not block["id"]:
        block["id"] = call_id
    return _signed(block, part, model)


def _opaque(part: Json, model: str | None) -> Json:
    part = {key: value for key, value in part.items() if key not in ("text", "mediaResolution")}
    return native.opaque(PROVIDER, part, model)


def _signed(block: Json, part: Json, model: str | None) -> Json:
    """Keep the signature of a part with the block that it becomes."""
    signature = part.get("thoughtSignature")
    signature = signature if type(signature) is str else None
    made_by = {"model": model} if model is not None else {}
    if block["type"] == "thinking":
        return {**block, "provider": PROVIDER, **made_by, **({"signature": signature} if signature else {})}
    if signature:
        block["provider_metadata"] = {"provider": PROVIDER, **made_by, "signature": signature}
    return block


def _text(part: Json, where: str) -> Json | None:
    text = text_at(part["text"], f"{where}.text")
    if part.get("thought") is True:
        return {"type": "thinking", "text": text}
    return None if text == "" and part.get("thoughtSignature") else {"type": "text", "text": text}


def _call(part: Json, where: str) -> Json:
    """Read a call; arguments that broke off are the text that came of them."""
    found = map_at(part["functionCall"], f"{where}.functionCall")
    name = text_at(found.get("name"), f"{where}.functionCall.name")
    call_id = text_at(found.get("id", ""), f"{where}.functionCall.id")
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments_of(found.get("args"))}


def _inline(part: Json, where: str) -> Json:
    where = f"{where}.inlineData"
    found = map_at(part["inlineData"], where)
    block = {"type": "media", "mime_type": text_at(found.get("mimeType"), f"{where}.mimeType")}
    return {**block, "data_base64": text_at(found.get("data"), f"{where}.data"), **_beside(found, part)}


def _file(part: Json, where: str) -> Json | None:
    where = f"{where}.fileData"
    found = map_at(part["fileData"], where)
    url = text_at(found.get("fileUri"), f"{where}.fileUri")
    if _STORED.match(url) or not isinstance(found.get("mimeType"), str):
        return None
    return {"type": "media", "mime_type": found["mimeType"], "url": url, **_beside(found, part)}


def _beside(found: Json, part: Json) -> Json:
    named = {"name": found["displayName"]} if found.get("displayName") else {}
    kept = native.keep(PROVIDER, {key: part[key] for key in BESIDE if key in part}).get("provider_metadata")
    return {**named, "provider_metadata": kept or {"provider": PROVIDER}}


_READERS: dict[str, Callable[[Json, str], Json | None]] = {
    "text": _text,
    "functionCall": _call,
    "inlineData": _inline,
    "fileData": _file,
}


def result_of(part: Json, where: str, call_id: str) -> Json:
    """Read a functionResponse: its object is a text where that is all of it, else kept beside its text."""
    found = map_at(part["functionResponse"], f"{where}.functionResponse")
    response = found.get("response") or {}
    if type(response) is not dict:
        response = {"result": response}
    word, text = next(iter(response.items())) if len(response) == 1 else ("", None)
    plain = word in ("result", "error") and isinstance(text, str)
    said = text if plain else native.text_of(response)
    media = [block_of(part_at(inside, where), where, "", None) for inside in entries_at(found.get("parts"), where)]
    kept = {} if plain else {"provider_metadata": {"provider": PROVIDER, "response_json": said}}
    return {
        "type": "tool_result",
        "tool_call_id": call_id,
        "content": [{"type": "text", "text": said}, *media] if media else said,
        "is_error": word == "error",
        **kept,
    }
