"""Reads requests and responses of Ollama's API: both have the same messages."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import ANY_PICTURE, media_from
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    id_prefix,
    invalid_at,
    report_unused_keys,
    require_elements,
    require_history,
    require_map,
    require_role,
    require_str,
    response_metadata,
)
from reeld.formats.metadata import preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.ollama.rules import PROVIDER
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import system_message

_API = "Ollama"
_MESSAGE_KEYS = ("role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id", "name")
# The keys of a response about its usage.
_USAGE = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)
# The first bytes of media: the API names no type.
_SIGNATURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp"}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
# The number of base64 characters with the bytes that identify the type.
_HEAD = 16


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    The system messages that lead it become the prompt; later ones become user messages with their role in
    ``provider_metadata.role``.

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
    first = next((index for index, role in roles if _role(role, "") not in INSTRUCTION_ROLES), len(read))
    loaded = [*system_message(PROVIDER, read[:first]), *read[first:]]
    return LoadedRequest(loaded, [*reader.pairing.report, *report_unused_keys(body, ("messages", "model"))])


def _role(value: Any, where: str) -> str:
    """Return a neutral role; the server ignores the case of a role."""
    return require_role(value.lower() if type(value) is str else value, where, _API)


class _MessageReader:
    """Reads messages one by one, and pairs results with calls if either has no id."""

    def __init__(self, model: str | None) -> None:
        self.pairing = Pairing()
        self._model = model

    def read(self, given: Any, index: int) -> Json:
        """Read the message at an index."""
        where = f"messages[{index}]"
        message = require_map(given, where)
        role = _role(message.get("role"), f"{where}.role")
        if role == "assistant":
            blocks = _assistant(message, where, self._model, f"call_{index}", self.pairing)
            return {"role": role, "content": blocks, **preserve_keys(PROVIDER, message, _MESSAGE_KEYS)}
        if role == "tool":
            name = message.get("tool_name") or message.get("name")
            call_id = self.pairing.id_for_result(message.get("tool_call_id"), name, f"{where}.tool_call_id")
            return _result(message, where, call_id)
        kept = {**message, "role": role if role in INSTRUCTION_ROLES else None}
        content = [*_texts(message, where), *_media(message, where)] or [_text("")]
        return {"role": "user", "content": content, **preserve_keys(PROVIDER, kept, _MESSAGE_KEYS[1:])}


def _result(message: Json, where: str, call_id: str) -> Json:
    texts, media = _texts(message, where), _media(message, where)
    content = [*texts, *media] if media or len(texts) > 1 else "".join(block["text"] for block in texts)
    kept = preserve_keys(PROVIDER, message, _MESSAGE_KEYS)
    result = {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}
    return {"role": "tool", "content": [result]}


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``message``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body is not an answer; ``data.field`` is the place.
    """
    if "message" not in body:
        raise invalid_at("message", f"is missing; a response of {_API} has one")
    made_by = body.get("model") or model
    message = require_map(body["message"], "message")
    content = _assistant(message, "message", made_by, f"call_{id_prefix(body, 'created_at')}", Pairing())
    usage = {key: body[key] for key in _USAGE if body.get(key) is not None} or None
    metadata = response_metadata(
        PROVIDER,
        {**message, **body},
        (*_MESSAGE_KEYS, *_USAGE, "model", "message", "done", "done_reason"),
        model=made_by,
        finish_reason=body.get("done_reason"),
        usage=usage,
    )
    return Response({"role": "assistant", "content": content, "provider_metadata": metadata}, usage)


def _assistant(message: Json, where: str, model: str | None, prefix: str, pairing: Pairing) -> list[Json]:
    """Read the assistant's thinking, text and calls; an empty message becomes an empty text.

    Args:
        message: the message.
        where: its place, for errors.
        model: the model that wrote it, if it is known.
        prefix: the prefix of generated call ids.
        pairing: records the calls.
    """
    thought = message.get("thinking")
    thinking: list[Json] = []
    if thought:
        made_by = {"model": model} if model is not None else {}
        text = require_str(thought, f"{where}.thinking")
        thinking.append({"type": "thinking", "text": text, "provider": PROVIDER, **made_by})
    calls = _calls(message, where, prefix, pairing)
    return [*thinking, *_texts(message, where), *_media(message, where), *calls] or [_text("")]


def _calls(message: Json, where: str, prefix: str, pairing: Pairing) -> Iterator[Json]:
    """Read the calls; those of older servers have no ids (rule O4)."""
    for index, value in enumerate(require_elements(message.get("tool_calls"), f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{index}]"
        call = require_map(value, place)
        function = require_map(call.get("function"), f"{place}.function")
        name = require_str(function.get("name"), f"{place}.function.name")
        call_id = require_str(call.get("id") or "", f"{place}.id")
        if call_id:
            pairing.add_call(call_id, name)
        else:
            call_id = pairing.add_call_without_id(f"{prefix}_{index}", name, place)
        yield {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments_of(function.get("arguments"))}


def _text(value: str) -> Json:
    return {"type": "text", "text": value}


def _texts(message: Json, where: str) -> list[Json]:
    """Read the content: a text, or the texts of a list, as in other APIs (rule X12)."""
    content, where = message.get("content"), f"{where}.content"
    if content is None or type(content) is str:
        return [_text(content)] if content else []
    parts = [_text(part) if type(part) is str else part for part in require_elements(content, where)]
    found = [require_map(part, f"{where}[{index}]") for index, part in enumerate(parts)]
    return [_text(require_str(part.get("text"), f"{where}[{index}].text")) for index, part in enumerate(found)]


def _media(message: Json, where: str) -> list[Json]:
    images = message.get("images")
    given = [images] if type(images) is str else require_elements(images, f"{where}.images")
    return [_picture(require_str(value, f"{where}.images[{index}]")) for index, value in enumerate(given)]


def _picture(value: str) -> Json:
    """Read a picture; a data URL, which the server refuses, counts as its bytes."""
    media = media_from(value, ANY_PICTURE) if value.startswith("data:") else {}
    data = media.get("data_base64", value)
    mime = _type_of(data) or media.get("mime_type", ANY_PICTURE)
    return {"type": "media", "mime_type": mime, "data_base64": data, "provider_metadata": {"provider": PROVIDER}}


def _type_of(data: str) -> str | None:
    """Return the type of media by their first bytes; ``None`` if they do not identify one."""
    try:
        head = base64.b64decode(data[:_HEAD], validate=True)
    except (ValueError, binascii.Error):
        return None
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    return next((mime for begins, mime in _SIGNATURES.items() if head.startswith(begins)), None)
