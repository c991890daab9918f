"""Reads requests and responses of Gemini's API: both have the same parts, with keys in either spelling (rule G8)."""

import re
from collections.abc import Callable
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import standard_base64
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    id_prefix,
    invalid_at,
    raise_provider_error,
    require_elements,
    require_history,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.gemini.rules import BESIDE_DATA, OF_A_RESPONSE, PROVIDER, is_uploaded
from reeld.formats.history_builder import HistoryBuilder, instructions, known_model, made_by, privileged, text
from reeld.formats.json_values import dump
from reeld.formats.metadata import opaque_block, preserve_keys
from reeld.formats.model import split_by_role

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
    builder = HistoryBuilder(PROVIDER, known_model(model, body.get("model")))
    for index, found in enumerate(require_history(body.get("contents"), "contents", _API)):
        _add(builder, camel_case(require_map(found, f"contents[{index}]")), index)
    prompt = instructions(PROVIDER, _prompt(body.get("systemInstruction")))
    return builder.loaded(body, ("contents", "systemInstruction", "model"), prompt)


def _prompt(instruction: Any) -> list[Json]:
    if not instruction:
        return []
    if type(instruction) is str:
        return [text(instruction)]
    where = "systemInstruction.parts"
    parts = enumerate(require_elements(require_map(instruction, "systemInstruction").get("parts"), where))
    return [
        text(require_str(_part_at(part, f"{where}[{index}]").get("text"), f"{where}[{index}].text"))
        for index, part in parts
    ]


def _add(builder: HistoryBuilder, found: Json, index: int) -> None:
    """Add one content: one message for each role that its parts belong to."""
    where = f"contents[{index}]"
    role = require_role(found.get("role") or "user", f"{where}.role", _API)
    speaker = "assistant" if role == "assistant" else "user"
    model = builder.model if role == "assistant" else None
    blocks = [
        _read(builder, part, f"{where}.parts[{number}]", f"{index}_{number}", model)
        for number, part in enumerate(require_elements(found.get("parts"), f"{where}.parts"))
    ]
    for owner, content in split_by_role(blocks, speaker):
        builder.add(owner, content, privileged(PROVIDER, role))


def _read(builder: HistoryBuilder, value: Any, where: str, place: str, model: str | None) -> Json:
    """Read a part, and pair calls and results."""
    part = _part_at(value, where)
    if "functionResponse" in part:
        response = require_map(part["functionResponse"], f"{where}.functionResponse")
        id_place = f"{where}.functionResponse.id"
        return _result(part, where, builder.answered_id(response.get("id"), response.get("name"), id_place))
    block = _block(part, where, model)
    if block["type"] == "tool_call":
        block["id"] = builder.call_id(block["id"], block["name"], place, f"{where}.functionCall")
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
    prefix = f"call_{id_prefix(body, 'responseId')}"
    builder = HistoryBuilder(PROVIDER, known_model(body.get("modelVersion"), model), prefix)
    where = "candidates[0].content.parts"
    parts = enumerate(require_elements(content.get("parts"), where))
    blocks = [_read(builder, part, f"{where}[{index}]", str(index), builder.model) for index, part in parts]
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
    if not isinstance(candidates, list) or len(candidates) != 1:
        raise invalid_at("candidates", "expected a list of one answer; remove the others")
    return camel_case(require_map(candidates[0], "candidates[0]"))


def camel_case(found: Json) -> Json:
    """Return an object with its own keys in camel case; null counts as absent (rule G8)."""
    return {_SNAKE.sub(lambda match: match[1].upper(), key): value for key, value in found.items() if value is not None}


def _part_at(value: Any, where: str) -> Json:
    """Return a part with its keys, and those of its data, in camel case; a bare string counts as a text (rule X12)."""
    value = {"text": value} if type(value) is str else value
    return {
        key: camel_case(inside) if isinstance(inside, dict) else inside
        for key, inside in camel_case(require_map(value, where)).items()
    }


def _block(part: Json, where: str, model: str | None) -> Json:
    """Read a part that is not a functionResponse; one without a neutral form is kept whole.

    Args:
        part: the part, as :func:`_part_at` returns it.
        where: its place, for errors.
        model: the model that generated it; ``None`` if unknown, or if none did (user input).
    """
    kind = next((key for key in _READERS if key in part), None)
    block = _READERS[kind](part, where) if kind else None
    if block is None:
        return opaque_block(PROVIDER, _without_text(part), model)
    return _with_signature(block, part, model)


def _without_text(part: Json) -> Json:
    """Return a part that is kept whole without its empty text, and without a key that the API refuses (rule G5)."""
    return {key: value for key, value in part.items() if key not in ("text", "mediaResolution")}


def _with_signature(block: Json, part: Json, model: str | None) -> Json:
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


def _text(part: Json, where: str) -> Json | None:
    said = require_str(part["text"], f"{where}.text")
    if part.get("thought") is True:
        return {"type": "thinking", "text": said}
    return None if said == "" and part.get("thoughtSignature") else text(said)


def _call(part: Json, where: str) -> Json:
    """Read a call; truncated arguments are a text, as received."""
    found = require_map(part["functionCall"], f"{where}.functionCall")
    name = require_str(found.get("name"), f"{where}.functionCall.name")
    call_id = require_str(found.get("id", ""), f"{where}.functionCall.id")
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments_of(found.get("args"))}


def _inline(part: Json, where: str) -> Json:
    where = f"{where}.inlineData"
    found = require_map(part["inlineData"], where)
    block = {"type": "media", "mime_type": require_str(found.get("mimeType"), f"{where}.mimeType")}
    data = standard_base64(require_str(found.get("data"), f"{where}.data"))
    return {**block, "data_base64": data, **_beside_data(found, part)}


def _file(part: Json, where: str) -> Json | None:
    where = f"{where}.fileData"
    found = require_map(part["fileData"], where)
    url = require_str(found.get("fileUri"), f"{where}.fileUri")
    if is_uploaded(url) or not isinstance(found.get("mimeType"), str):
        return None
    return {"type": "media", "mime_type": found["mimeType"], "url": url, **_beside_data(found, part)}


def _beside_data(found: Json, part: Json) -> Json:
    """Return the name of media, and always the provider: Gemini reads media that came from it (rule G6)."""
    named = {"name": found["displayName"]} if found.get("displayName") else {}
    kept = _beside(part, {"thought": part.get("thought") or None}).get("provider_metadata")
    return {**named, "provider_metadata": kept or {"provider": PROVIDER}}


def _beside(part: Json, more: Json) -> Json:
    """Return the keys of a part beside its data, and more, as metadata (rule G12)."""
    return preserve_keys(PROVIDER, {**{key: part[key] for key in BESIDE_DATA if key in part}, **more})


_READERS: dict[str, Callable[[Json, str], Json | None]] = {
    "text": _text,
    "functionCall": _call,
    "inlineData": _inline,
    "fileData": _file,
}


def _result(part: Json, where: str, call_id: str) -> Json:
    """Read a functionResponse: an object with only a text becomes that, any other is kept beside its text (rule G4)."""
    found = require_map(part["functionResponse"], f"{where}.functionResponse")
    response = found.get("response") or {}
    if type(response) is not dict:
        response = {"result": response}
    only: tuple[str, Any] = next(iter(response.items())) if len(response) == 1 else ("", None)
    key, told = only
    is_plain = key in ("result", "error") and type(told) is str
    said: str = told if is_plain else dump(response)
    elements = require_elements(found.get("parts"), where)
    media = [_block(_part_at(inside, where), where, None) for inside in elements]
    own = {key: found.get(key) for key in OF_A_RESPONSE}
    kept = _beside(part, own if is_plain else {**own, "response_json": said})
    return {
        "type": "tool_result",
        "tool_call_id": call_id,
        "content": [text(said), *media] if media else said,
        "is_error": key == "error",
        **kept,
    }
