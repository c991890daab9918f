"""Reads requests and responses of Chat Completions: both have the same messages."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

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
    report_unused_keys,
    require_elements,
    require_history,
    require_list,
    require_map,
    require_role,
    require_str,
    response_metadata,
    usage_in,
)
from reeld.formats.metadata import opaque_block, preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.openai import PROVIDER, custom_tool_arguments
from reeld.formats.openai_chat.reasoning import read_reasoning, thinking_part
from reeld.formats.openai_chat.rules import NAME
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import system_message

_API = "Chat Completions"
_Reader: TypeAlias = Callable[[Json, str], Json]
_SOUNDS = {"mp3": "audio/mpeg"}
# The keys of an assistant's message that become blocks; the others are kept as its metadata.
_BLOCK_KEYS = ("role", "content", "refusal", "audio", "annotations", "tool_calls")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    The system and developer messages that lead it become the prompt; later ones become user messages with their role
    in ``provider_metadata.role``.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    messages = require_history(body.get("messages"), "messages", _API)
    reader = _MessageReader(body.get("model") or model)
    read = [reader.read(message, index) for index, message in enumerate(messages)]
    roles = enumerate(message["role"] for message in messages)
    first = next((index for index, role in roles if role not in INSTRUCTION_ROLES), len(read))
    loaded = [*system_message(PROVIDER, read[:first]), *read[first:]]
    return LoadedRequest(loaded, [*reader.pairing.report, *report_unused_keys(body, ("messages", "model"))])


class _MessageReader:
    """Reads messages one by one, and pairs results with calls that have no id."""

    def __init__(self, model: str | None) -> None:
        self.pairing = Pairing()
        self._model = model

    def read(self, given: Any, index: int) -> Json:
        """Read the message at an index."""
        where = f"messages[{index}]"
        message = require_map(given, where)
        role = require_role(message.get("role"), f"{where}.role", _API)
        if role == "assistant":
            return _assistant(self._with_ids(message, index, where), where, self._model)
        if role == "tool":
            own_id = message.get("tool_call_id")
            # An id identifies the call; the name decides only without an id.
            name = None if own_id else message.get("name")
            return _result(self.pairing.id_for_result(own_id, name, f"{where}.tool_call_id"), message, where)
        return _user(message, role, where)

    def _with_ids(self, message: Json, index: int, where: str) -> Json:
        """Assign an id to each call without one; a call in the old form (``function_call``) never has one."""
        if (call := _old_call(message, where)) is not None:
            made = self.pairing.add_call_without_id(f"function_{index}", call.get("name"), f"{where}.function_call")
            message = _with_call(message, {"id": made, "type": "function", "function": call})
        return _with_ids(
            message, lambda place, call: self._made_id(call, f"call_{index}_{place}", f"{where}.tool_calls[{place}]")
        )

    def _made_id(self, call: Json, made: str, where: str) -> str:
        tool = call.get("function")
        return self.pairing.add_call_without_id(made, tool.get("name") if type(tool) is dict else None, where)


def _user(message: Json, role: str, where: str) -> Json:
    """Read a message of the user's or of an instruction role."""
    kept_role = {"role": role} if role in INSTRUCTION_ROLES else {}
    return {
        "role": "user",
        "content": _blocks(message.get("content"), f"{where}.content") or [_text("")],
        **preserve_keys(PROVIDER, {**message, "role": None, **kept_role}, ("content",)),
    }


def _result(call_id: str, message: Json, where: str) -> Json:
    kept = preserve_keys(PROVIDER, message, ("role", "content", "tool_call_id", "name"))
    content = shortest(_blocks(message.get("content"), f"{where}.content"))
    result = {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}
    return {"role": "tool", "content": [result]}


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
    made_by = body.get("model") or model
    given = require_map(choice.get("message"), "choices[0].message")
    if (called := _old_call(given, "choices[0].message")) is not None:
        given = _with_call(given, {"type": "function", "function": called})
    given = _with_ids(given, lambda index, _call: f"call_{id_prefix(body, 'id')}_{index}")
    message = _assistant(given, "choices[0].message", made_by)
    usage = usage_in(body)
    metadata = response_metadata(
        PROVIDER,
        {**body, **choice},
        ("id", "object", "model", "choices", "usage", "index", "message", "finish_reason", "error"),
        model=made_by,
        response_id=body.get("id"),
        finish_reason=choice.get("finish_reason"),
        usage=usage,
    )
    # In this form, routers report a failure of the provider behind them (rule X14).
    failed = choice.get("error")
    broke_off = None if failed is None else f"the provider said: {error_message(failed)}"
    metadata = {**message.get("provider_metadata", {}), **metadata}
    return Response({**message, "provider_metadata": metadata}, usage, broke_off)


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


def _assistant(message: Json, where: str, model: str | None) -> Json:
    """Read one assistant message: its reasoning, its content, its calls in order.

    Args:
        message: the message.
        where: its place, for errors.
        model: the model that wrote it, if it is known.

    Returns:
        a message in the form that is added; one without content has an empty text.
    """
    thoughts, read = read_reasoning(message, where, model)
    blocks = [*thoughts, *_said(message, where, model), *_calls(message, where)]
    kept = preserve_keys(PROVIDER, message, (*_BLOCK_KEYS, *read))
    return {"role": "assistant", "content": blocks or [_text("")], **kept}


def _said(message: Json, where: str, model: str | None) -> list[Json]:
    readers: Mapping[str, _Reader] = {**_PART_READERS, "thinking": partial(thinking_part, model=model)}
    blocks = [block for block in _blocks(message.get("content"), f"{where}.content", readers) if block != _text("")]
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


def _calls(message: Json, where: str) -> list[Json]:
    where = f"{where}.tool_calls"
    return [
        _call(require_map(call, f"{where}[{index}]"), f"{where}[{index}]")
        for index, call in enumerate(require_elements(message.get("tool_calls"), where))
    ]


def _old_call(message: Json, where: str) -> Json | None:
    """Return the call of an assistant's message that has one in the old form (``function_call``) alone."""
    if message.get("function_call") is None or message.get("tool_calls"):
        return None
    return require_map(message["function_call"], f"{where}.function_call")


def _with_call(message: Json, call: Json) -> Json:
    """Return an assistant's message with a call in the place of the one in the old form."""
    return {**message, "tool_calls": [call], "function_call": None}


def _with_ids(message: Json, make_id: Callable[[int, Json], str]) -> Json:
    """Return an assistant's message in which every call has an id; some servers leave them out (rule X12).

    Args:
        message: the message.
        make_id: returns an id for the place of a call and the call.
    """
    calls = message.get("tool_calls")
    if type(calls) is not list or all(type(call) is not dict or call.get("id") for call in calls):
        return message
    with_ids = [
        {**call, "id": make_id(index, call)} if type(call) is dict and call.get("id") in (None, "") else call
        for index, call in enumerate(calls)
    ]
    return {**message, "tool_calls": with_ids}


def _call(call: Json, where: str) -> Json:
    """Read a call; the input of a custom tool, a text, is stored in the arguments as ``input``."""
    if call.get("type") == "custom":
        custom = require_map(call.get("custom"), f"{where}.custom")
        given = require_str(custom.get("input"), f"{where}.custom.input")
        name, arguments = custom.get("name"), custom_tool_arguments(given)
        kept = {**call, **custom, "type": "custom_tool_call"}
    else:
        function = require_map(call.get("function"), f"{where}.function")
        name, arguments = function.get("name"), arguments_of(function.get("arguments"))
        kept = {**call, **function, "type": None}
    return {
        "type": "tool_call",
        "id": require_str(call.get("id"), f"{where}.id"),
        "name": require_str(name, f"{where}.name"),
        "arguments": arguments,
        **preserve_keys(PROVIDER, kept, ("id", "index", "function", "custom", "name", "arguments", "input")),
    }


def _blocks(content: Any, where: str, readers: Mapping[str, _Reader] | None = None) -> list[Json]:
    """Read the content of a message; null and an empty list are no block."""
    if type(content) is str:
        return [_text(content)]
    parts = enumerate(require_elements(content, where))
    return [_block(part, f"{where}[{index}]", readers or _PART_READERS) for index, part in parts]


def _text(value: str, **metadata: Any) -> Json:
    return {"type": "text", "text": value, **preserve_keys(PROVIDER, metadata)}


def _refusal(value: str) -> Json:
    return _text(value, refusal=True)


def _opaque(part: Json) -> Json:
    """Return the block of a part without a neutral form; only this API accepts it, not OpenAI's other one."""
    return opaque_block(PROVIDER, part, format=NAME)


def _block(part: Any, where: str, readers: Mapping[str, _Reader]) -> Json:
    if type(part) is str:
        return _text(part)
    read = readers.get(str(require_map(part, where).get("type")))
    return _opaque(part) if read is None else read(part, where)


def _text_part(part: Json, where: str) -> Json:
    text = require_str(part.get("text"), f"{where}.text")
    return {"type": "text", "text": text, **preserve_keys(PROVIDER, part, ("type", "text"))}


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


_PART_READERS: dict[str, _Reader] = {
    "text": _text_part,
    "refusal": _refusal_part,
    "image_url": _image_part,
    "input_audio": _sound_part,
    "file": _file_part,
}
