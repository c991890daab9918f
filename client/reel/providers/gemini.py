"""Reads the parts of Gemini's API, with keys in either spelling (rule G8)."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import PartReader, made_by, privileged, text, tool_call, tool_result
from reel.providers.content import standard_base64
from reel.providers.elements import Element, require_elements, require_map, require_str
from reel.providers.json_values import dump
from reel.providers.message_builder import MessageBuilder
from reel.providers.metadata import opaque_block, preserve_keys
from reel.providers.refusals import Refusals, or_kept

PROVIDER = "gemini"
API = "Gemini"
_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
# The keys of a part beside its data, and of media inside their data.
BESIDE_DATA = (
    "videoMetadata",
    "partMetadata",
    "audioTranscription",
    "mediaProcessing",
    "speechMetadata",
    "documentMetadata",
    "spreadsheetMetadata",
    "audioMetadata",
)
# The keys of a function response beside its result.
OF_A_RESPONSE = ("scheduling", "willContinue")
# The keys under which a function response has its text.
_PLAIN = ("result", "error", "output")
# Where Google keeps uploaded files; no other provider can read them (rule G10).
_UPLOADED = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")


def is_uploaded(url: str) -> bool:
    """Whether a URL refers to a file uploaded to Google (rule G10)."""
    return _UPLOADED.match(url) is not None


def read_content(builder: MessageBuilder, content: Element, place: str) -> None:
    """Add a content: one message for each role that its parts belong to.

    Args:
        builder: the builder.
        content: the content.
        place: the beginning of what makes a generated id unique.
    """
    found = Element(camel_case(content.value), content.where, content.refusals)
    role, where = found.role(API, "user"), found.at("parts")
    model = builder.model if role == "assistant" else None
    blocks = [
        read_part(builder, part, f"{where}[{number}]", f"{place}{number}", model, found.refusals)
        for number, part in enumerate(require_elements(found.get("parts"), where))
    ]
    builder.add_by_role(blocks, "assistant" if role == "assistant" else "user", privileged(PROVIDER, role))


def read_part(
    builder: MessageBuilder, given: Any, where: str, place: str, model: str | None, refusals: Refusals | None = None
) -> Json:
    """Read a part.

    Args:
        builder: gives ids to calls without one, and pairs the results with their calls.
        given: the part.
        where: its place, for errors.
        place: what makes a generated id unique.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
        refusals: what keeps a part that is refused; ``None`` if that is an error.
    """

    def read() -> Json:
        part = _part_at(given, where, refusals)
        return _result(builder, part) if "functionResponse" in part.value else read_said(builder, part, place, model)

    return or_kept(refusals, given, read)


def read_said(builder: MessageBuilder, part: Element, place: str, model: str | None) -> Json:
    """Read a part that is not the client's answer to a call; a call without an id gets one."""
    block = _block(part, model)
    if block["type"] == "tool_call":
        block["id"] = builder.call_id(block["id"], block["name"], place, part.at("functionCall"))
    return block


def camel_case(found: Json) -> Json:
    """Return an object with its own keys in camel case; null counts as absent (rule G8)."""
    return {_SNAKE.sub(lambda match: match[1].upper(), key): value for key, value in found.items() if value is not None}


def parts_in(given: Any, where: str) -> Iterator[Element]:
    """Yield parts with their keys, and those of their data, in camel case; a bare string is a text (rule X12)."""
    for index, value in enumerate(require_elements(given, where)):
        yield _part_at(value, f"{where}[{index}]")


def _part_at(value: Any, where: str, refusals: Refusals | None = None) -> Element:
    part = camel_case(require_map({"text": value} if type(value) is str else value, where))
    cased = {key: camel_case(inside) if type(inside) is dict else inside for key, inside in part.items()}
    return Element(cased, where, refusals)


def _block(part: Element, model: str | None) -> Json:
    """Read a part that is not a functionResponse; one without a neutral form is kept whole.

    Args:
        part: the part, with keys in camel case.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
    """
    kind = next((key for key in _READERS if key in part.value), None)
    block = _READERS[kind](part) if kind else None
    if block is None:
        # Without its empty text, and without a key that the API refuses (rule G5).
        whole = {key: value for key, value in part.value.items() if key not in ("text", "mediaResolution")}
        return opaque_block(PROVIDER, whole, model)
    return _with_signature(block, part, model)


def _with_signature(block: Json, part: Element, model: str | None) -> Json:
    """Keep the signature of a part with its block (rule G3)."""
    signature = part.get("thoughtSignature")
    signature = signature if type(signature) is str else None
    maker = made_by(model)
    beside = block if "provider_metadata" in block else {**block, **_beside(part, {})}
    if block["type"] == "thinking":
        return {**beside, "provider": PROVIDER, **maker, **({"signature": signature} if signature else {})}
    if signature:
        kept = {**beside.get("provider_metadata", {}), "provider": PROVIDER, **maker, "signature": signature}
        return {**beside, "provider_metadata": kept}
    return beside


def _text(part: Element) -> Json | None:
    said = part.text("text")
    if part.get("thought") is True:
        return {"type": "thinking", "text": said}
    return None if said == "" and part.get("thoughtSignature") else text(said)


def _call(part: Element) -> Json:
    found = part.inside("functionCall")
    name, call_id = found.text("name"), require_str(found.value.get("id", ""), found.at("id"))
    return tool_call(call_id, name, found.get("args"))


def _inline(part: Element) -> Json:
    found = part.inside("inlineData")
    block = {"type": "media", "mime_type": found.text("mimeType")}
    return {**block, "data_base64": standard_base64(found.text("data")), **_beside_data(found, part)}


def _file(part: Element) -> Json | None:
    found = part.inside("fileData")
    url, mime = found.text("fileUri"), found.get("mimeType")
    if is_uploaded(url) or type(mime) is not str:
        return None
    return {"type": "media", "mime_type": mime, "url": url, **_beside_data(found, part)}


def _beside_data(found: Element, part: Element) -> Json:
    """Return the name of media, and always the provider: Gemini reads media that came from it (rule G6)."""
    named = {"name": found.get("displayName")} if found.get("displayName") else {}
    kept = _beside(part, {"thought": part.get("thought") or None})
    return {**named, **(kept or {"provider_metadata": {"provider": PROVIDER}})}


def _beside(part: Element, more: Json) -> Json:
    """Return the keys of a part beside its data, and more, as metadata (rule G12)."""
    return preserve_keys(PROVIDER, {**{key: part.get(key) for key in BESIDE_DATA}, **more})


_READERS: dict[str, PartReader] = {
    "text": _text,
    "functionCall": _call,
    "inlineData": _inline,
    "fileData": _file,
}


def _medium(given: Any, where: str) -> Json:
    return _block(_part_at(given, where), None)


def _result(builder: MessageBuilder, part: Element) -> Json:
    """Read a functionResponse: an object with only a text becomes that, any other is kept beside its text (rule G4).

    So is one with only an ``output``, which is how programs with Google's SDKs write a result.
    """
    found = part.inside("functionResponse")
    call_id = builder.answered_id(found.get("id"), found.get("name"), found.at("id"))
    response = found.get("response") or {}
    if type(response) is not dict:
        response = {"result": response}
    only: tuple[str, Any] = next(iter(response.items())) if len(response) == 1 else ("", None)
    key, told = only
    is_plain = key in _PLAIN and type(told) is str
    said: str = told if is_plain else dump(response)
    elements = require_elements(found.get("parts"), part.where)
    media = [or_kept(part.refusals, inside, partial(_medium, inside, part.where)) for inside in elements]
    own = {key: found.get(key) for key in OF_A_RESPONSE}
    kept = _beside(part, own if is_plain and key != "output" else {**own, "response_json": dump(response)})
    return tool_result(call_id, [text(said), *media] if media else said, kept, failed=key == "error")
