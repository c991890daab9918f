"""Reads requests and responses of Chat Completions: both have the same messages."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import ANY_PICTURE, media_from, shortest
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    error_message,
    id_prefix,
    invalid_at,
    raise_provider_error,
    require_elements,
    require_history,
    require_list,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder, PartReader, blocks_of, by_type, known_model, text
from reeld.formats.metadata import opaque_block, preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.openai import PROVIDER, custom_tool_arguments
from reeld.formats.openai_chat.reasoning import read_reasoning, thinking_part
from reeld.formats.openai_chat.rules import NAME

_API = "Chat Completions"
_SOUNDS = {"mp3": "audio/mpeg"}
# The keys of an assistant's message that become blocks; the others are kept as its metadata.
_BLOCK_KEYS = ("role", "content", "refusal", "audio", "annotations", "tool_calls", "function_call")
# The keys of a response that are read, or say nothing about the answer.
_READ = ("id", "object", "model", "choices", "usage", "index", "message", "finish_reason", "error")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    for index, found in enumerate(require_history(body.get("messages"), "messages", _API)):
        _add(builder, require_map(found, f"messages[{index}]"), f"messages[{index}]", str(index))
    return builder.loaded(body, ("messages", "model"))


def _add(builder: HistoryBuilder, message: Json, where: str, place: str) -> None:
    role = require_role(message.get("role"), f"{where}.role", _API)
    if role == "assistant":
        _add_answer(builder, message, where, f"{place}_")
    elif role == "tool":
        builder.add("tool", [_result(builder, message, where)])
    else:
        kept_role = {"role": role} if role in INSTRUCTION_ROLES else {}
        kept = preserve_keys(PROVIDER, {**message, "role": None, **kept_role}, ("content",))
        builder.add("user", _blocks(message.get("content"), f"{where}.content"), kept)


def _result(builder: HistoryBuilder, message: Json, where: str) -> Json:
    call_id = builder.answered_id(message.get("tool_call_id"), message.get("name"), f"{where}.tool_call_id")
    kept = preserve_keys(PROVIDER, message, ("role", "content", "tool_call_id", "name"))
    content = shortest(_blocks(message.get("content"), f"{where}.content"))
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``choices``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer, or several; ``data.field`` is the place.
    """
    raise_provider_error(body)
    choice = _only_choice(body)
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model), f"call_{id_prefix(body, 'id')}")
    _add_answer(builder, require_map(choice.get("message"), "choices[0].message"), "choices[0].message", "")
    # In this form, routers report a failure of the provider behind them (rule X14).
    failed = choice.get("error")
    return builder.answer(
        {**body, **choice},
        _READ,
        broke_off=None if failed is None else f"the provider said: {error_message(failed)}",
        response_id=body.get("id"),
        finish_reason=choice.get("finish_reason"),
        usage=usage_in(body),
    )


def _only_choice(body: Json) -> Json:
    """Return the one answer; taking the first of several would silently lose the others (rule X14)."""
    if "choices" not in body:
        raise invalid_at("choices", f"is missing; a response of {_API} has them")
    choices = require_list(body["choices"], "choices")
    if not choices:
        raise invalid_at("choices", "is empty; there is no answer")
    if len(choices) > 1:
        raise invalid_at("choices", f"expected one answer, got {len(choices)}; remove the others")
    return require_map(choices[0], "choices[0]")


def _add_answer(builder: HistoryBuilder, message: Json, where: str, place: str) -> None:
    """Add an assistant's message: its reasoning, its content, its calls in order."""
    thoughts, read = read_reasoning(message, where, builder.model)
    calls = [
        _call(builder, call, each, place + str(index)) for index, (call, each) in enumerate(_calls(message, where))
    ]
    kept = preserve_keys(PROVIDER, message, (*_BLOCK_KEYS, *read))
    builder.add("assistant", [*thoughts, *_said(message, where, builder.model), *calls], kept)


def _said(message: Json, where: str, model: str | None) -> list[Json]:
    readers: Mapping[str, PartReader] = {**_PART_READERS, "thinking": partial(thinking_part, model=model)}
    blocks = [block for block in _blocks(message.get("content"), f"{where}.content", readers) if block != text("")]
    first = next((block for block in blocks if block["type"] == "text"), None)
    if first is not None and "provider_metadata" not in first:
        first.update(preserve_keys(PROVIDER, {"annotations": message.get("annotations")}))
    if message.get("refusal") is not None:
        blocks.append(_refusal(require_str(message["refusal"], f"{where}.refusal")))
    if message.get("audio") is not None:
        blocks.append(_spoken(require_map(message["audio"], f"{where}.audio"), where))
    return blocks


def _spoken(audio: Json, where: str) -> Json:
    """Read an audio answer: its transcript is a text; in a request it has only its id."""
    if audio.get("transcript") is None:
        return _opaque({"audio": audio})
    return _text(require_str(audio["transcript"], f"{where}.audio.transcript"), audio=audio)


def _calls(message: Json, where: str) -> list[tuple[Json, str]]:
    """Return the calls of an assistant's message and their places: the one in the old form is a function's."""
    given = require_elements(message.get("tool_calls"), f"{where}.tool_calls")
    if message.get("function_call") is not None and not given:
        called = require_map(message["function_call"], f"{where}.function_call")
        return [({"function": called}, f"{where}.function_call")]
    places = [f"{where}.tool_calls[{index}]" for index in range(len(given))]
    return [(require_map(call, place), place) for call, place in zip(given, places, strict=True)]


def _call(builder: HistoryBuilder, call: Json, where: str, place: str) -> Json:
    """Read a call; the input of a custom tool, a text, is stored in the arguments as ``input``."""
    if call.get("type") == "custom":
        custom = require_map(call.get("custom"), f"{where}.custom")
        given = require_str(custom.get("input"), f"{where}.custom.input")
        named, arguments = custom.get("name"), custom_tool_arguments(given)
        kept = {**call, **custom, "type": "custom_tool_call"}
    else:
        function = require_map(call.get("function"), f"{where}.function")
        named, arguments = function.get("name"), arguments_of(function.get("arguments"))
        kept = {**call, **function, "type": None}
    name = require_str(named, f"{where}.name")
    return {
        "type": "tool_call",
        "id": builder.call_id(require_str(call.get("id") or "", f"{where}.id"), name, place, where),
        "name": name,
        "arguments": arguments,
        **preserve_keys(PROVIDER, kept, ("id", "index", "function", "custom", "name", "arguments", "input")),
    }


def _blocks(content: Any, where: str, readers: Mapping[str, PartReader] | None = None) -> list[Json]:
    known = readers or _PART_READERS
    return blocks_of(content, where, lambda part, place: by_type(known, part, place) or _opaque(part))


def _text(value: str, **metadata: Any) -> Json:
    return {**text(value), **preserve_keys(PROVIDER, metadata)}


def _refusal(value: str) -> Json:
    return _text(value, refusal=True)


def _opaque(part: Json) -> Json:
    """Return the block of a part without a neutral form; only this API accepts it, not OpenAI's other one."""
    return opaque_block(PROVIDER, part, format=NAME)


def _text_part(part: Json, where: str) -> Json:
    return {**text(require_str(part.get("text"), f"{where}.text")), **preserve_keys(PROVIDER, part, ("type", "text"))}


def _refusal_part(part: Json, where: str) -> Json:
    return _refusal(require_str(part.get("refusal"), f"{where}.refusal"))


def _media(block: Json, kept: Json, *without: str) -> Json:
    """Add the provider to a media block: OpenAI accepts what came from it, whatever its type (rule C6)."""
    metadata = preserve_keys(PROVIDER, kept, ("type", *without)).get("provider_metadata")
    return {**block, "provider_metadata": metadata or {"provider": PROVIDER}}


def _image_part(part: Json, where: str) -> Json:
    given = part.get("image_url")
    image = {"url": given} if type(given) is str else require_map(given, f"{where}.image_url")
    block = media_from(require_str(image.get("url"), f"{where}.image_url.url"), ANY_PICTURE)
    return _media(block, {**part, **image}, "image_url", "url")


def _sound_part(part: Json, where: str) -> Json:
    sound = require_map(part.get("input_audio"), f"{where}.input_audio")
    kind = require_str(sound.get("format"), f"{where}.input_audio.format")
    data = require_str(sound.get("data"), f"{where}.input_audio.data")
    block = {"type": "media", "mime_type": _SOUNDS.get(kind, f"audio/{kind}"), "data_base64": data}
    return _media(block, part, "input_audio")


def _file_part(part: Json, where: str) -> Json:
    """Read a file that the part contains; an uploaded one is known only to the provider."""
    file = require_map(part.get("file"), f"{where}.file")
    if type(file.get("file_data")) is not str or not file["file_data"].startswith("data:"):
        return _opaque(part)
    block = media_from(file["file_data"], "application/octet-stream")
    if file.get("filename") is not None:
        block["name"] = require_str(file["filename"], f"{where}.file.filename")
    return _media(block, part, "file")


_PART_READERS: dict[str, PartReader] = {
    "text": _text_part,
    "refusal": _refusal_part,
    "image_url": _image_part,
    "input_audio": _sound_part,
    "file": _file_part,
}
