"""Reads requests and responses of Gemini's API: both have the same parts, with keys in either spelling (rule G8)."""

import re
from collections.abc import Iterator
from typing import Any

from reel.providers.content import standard_base64
from reel.providers.json_values import dump
from reel.providers.metadata import opaque_block, preserve_keys
from reel.strict_json import Json
from reeld.formats.fields import (
    Element,
    LoadedRequest,
    Response,
    history_of,
    id_prefix,
    invalid_at,
    raise_provider_error,
    require_elements,
    require_map,
    require_str,
    usage_in,
)
from reeld.formats.gemini.rules import BESIDE_DATA, OF_A_RESPONSE, PROVIDER, is_uploaded
from reeld.formats.history_builder import (
    HistoryBuilder,
    PartReader,
    made_by,
    privileged,
    text,
    tool_call,
    tool_result,
)

_API = "Gemini"
_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
# The keys of a response that are read, or that only Google's SDK adds to it.
_TOP_KEYS = ("candidates", "modelVersion", "responseId", "usageMetadata", "sdkHttpResponse", "parsed")
# The keys of a candidate that are read, or say nothing about the message.
_CANDIDATE_KEYS = ("content", "finishReason", "index")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``contents``.
        model: the model that wrote the model's contents; the body has no place for it (rule G9).

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    body = camel_case(body)
    builder = HistoryBuilder(PROVIDER, model, body.get("model"))
    for index, found in enumerate(history_of(body, "contents", _API)):
        _add(builder, Element(camel_case(found.value), found.where), index)
    prompt = _prompt(body.get("systemInstruction"))
    return builder.loaded(body, ("contents", "systemInstruction", "model"), prompt)


def _prompt(instruction: Any) -> list[Json]:
    if not instruction:
        return []
    if type(instruction) is str:
        return [text(instruction)]
    parts = require_map(instruction, "systemInstruction").get("parts")
    return [text(part.text("text")) for part in _parts(parts, "systemInstruction.parts")]


def _add(builder: HistoryBuilder, found: Element, index: int) -> None:
    """Add one content: one message for each role that its parts belong to."""
    role = found.role(_API, "user")
    model = builder.model if role == "assistant" else None
    blocks = [
        _result(builder, part) if "functionResponse" in part.value else _said(builder, part, f"{index}_{number}", model)
        for number, part in enumerate(_parts(found.get("parts"), found.at("parts")))
    ]
    builder.add_by_role(blocks, "assistant" if role == "assistant" else "user", privileged(PROVIDER, role))


def _said(builder: HistoryBuilder, part: Element, place: str, model: str | None) -> Json:
    """Read a part that is not the client's answer to a call; a call without an id gets one."""
    block = _block(part, model)
    if block["type"] == "tool_call":
        block["id"] = builder.call_id(block["id"], block["name"], place, part.at("functionCall"))
    return block


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``candidates``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer, or several; ``data.field`` is the place.
    """
    raise_provider_error(body)
    body = camel_case(body)
    candidate = _only_candidate(body)
    content = camel_case(require_map(candidate.get("content") or {}, "candidates[0].content"))
    builder = HistoryBuilder(PROVIDER, body.get("modelVersion"), model, made=id_prefix(body, "responseId"))
    parts = enumerate(_parts(content.get("parts"), "candidates[0].content.parts"))
    blocks = [_said(builder, part, str(index), builder.model) for index, part in parts]
    builder.add("assistant", blocks)
    return builder.answer(
        {**body, **candidate},
        (*_TOP_KEYS, *_CANDIDATE_KEYS),
        response_id=body.get("responseId"),
        finish_reason=candidate.get("finishReason"),
        usage=usage_in(body, "usageMetadata"),
    )


def _only_candidate(body: Json) -> Json:
    """Return the one answer; taking the first of several would silently lose the others (rule X14)."""
    candidates: Any = body.get("candidates")
    if not candidates:
        feedback = body.get("promptFeedback")
        why = f"the provider said {dump(feedback)}" if feedback else f"a response of {_API} has one"
        raise invalid_at("candidates", f"there is no answer; {why}")
    if type(candidates) is not list or len(candidates) != 1:
        raise invalid_at("candidates", "expected a list of one answer; remove the others")
    return camel_case(require_map(candidates[0], "candidates[0]"))


def camel_case(found: Json) -> Json:
    """Return an object with its own keys in camel case; null counts as absent (rule G8)."""
    return {_SNAKE.sub(lambda match: match[1].upper(), key): value for key, value in found.items() if value is not None}


def _parts(given: Any, where: str) -> Iterator[Element]:
    """Yield parts with their keys, and those of their data, in camel case; a bare string is a text (rule X12)."""
    for index, value in enumerate(require_elements(given, where)):
        yield _part_at(value, f"{where}[{index}]")


def _part_at(value: Any, where: str) -> Element:
    part = camel_case(require_map({"text": value} if type(value) is str else value, where))
    cased = {key: camel_case(inside) if type(inside) is dict else inside for key, inside in part.items()}
    return Element(cased, where)


def _block(part: Element, model: str | None) -> Json:
    """Read a part that is not a functionResponse; one without a neutral form is kept whole.

    Args:
        part: the part, as :func:`_part_at` returns it.
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


def _result(builder: HistoryBuilder, part: Element) -> Json:
    """Read a functionResponse: an object with only a text becomes that, any other is kept beside its text (rule G4)."""
    found = part.inside("functionResponse")
    call_id = builder.answered_id(found.get("id"), found.get("name"), found.at("id"))
    response = found.get("response") or {}
    if type(response) is not dict:
        response = {"result": response}
    only: tuple[str, Any] = next(iter(response.items())) if len(response) == 1 else ("", None)
    key, told = only
    is_plain = key in ("result", "error") and type(told) is str
    said: str = told if is_plain else dump(response)
    elements = require_elements(found.get("parts"), part.where)
    media = [_block(_part_at(inside, part.where), None) for inside in elements]
    own = {key: found.get(key) for key in OF_A_RESPONSE}
    kept = _beside(part, own if is_plain else {**own, "response_json": said})
    return tool_result(call_id, [text(said), *media] if media else said, kept, failed=key == "error")
