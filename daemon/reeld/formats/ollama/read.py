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
    require_elements,
    require_history,
    require_map,
    require_role,
    require_str,
)
from reeld.formats.history_builder import HistoryBuilder, blocks_of, known_model, made_by, text
from reeld.formats.metadata import preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.ollama.rules import PROVIDER

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

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    for index, found in enumerate(require_history(body.get("messages"), "messages", _API)):
        _add(builder, require_map(found, f"messages[{index}]"), f"messages[{index}]", f"{index}_")
    return builder.loaded(body, ("messages", "model"))


def _role(value: Any, where: str) -> str:
    """Return a neutral role; the server ignores the case of a role."""
    return require_role(value.lower() if type(value) is str else value, where, _API)


def _add(builder: HistoryBuilder, message: Json, where: str, place: str) -> None:
    role = _role(message.get("role"), f"{where}.role")
    if role == "assistant":
        _add_answer(builder, message, where, place)
    elif role == "tool":
        builder.add("tool", [_result(builder, message, where)])
    else:
        kept = {**message, "role": role if role in INSTRUCTION_ROLES else None}
        content = [*_texts(message, where), *_media(message, where)]
        builder.add("user", content, preserve_keys(PROVIDER, kept, _MESSAGE_KEYS[1:]))


def _result(builder: HistoryBuilder, message: Json, where: str) -> Json:
    name = message.get("tool_name") or message.get("name")
    call_id = builder.answered_id(message.get("tool_call_id"), name, f"{where}.tool_call_id")
    texts, media = _texts(message, where), _media(message, where)
    content = [*texts, *media] if media or len(texts) > 1 else "".join(block["text"] for block in texts)
    kept = preserve_keys(PROVIDER, message, _MESSAGE_KEYS)
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}


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
    message = require_map(body["message"], "message")
    prefix = f"call_{id_prefix(body, 'created_at')}"
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model), prefix)
    _add_answer(builder, message, "message", "")
    return builder.answer(
        {**message, **body},
        (*_MESSAGE_KEYS, *_USAGE, "model", "message", "done", "done_reason"),
        finish_reason=body.get("done_reason"),
        usage={key: body[key] for key in _USAGE if body.get(key) is not None} or None,
    )


def _add_answer(builder: HistoryBuilder, message: Json, where: str, place: str) -> None:
    """Add an assistant's message: its thinking, text, media and calls."""
    thought = message.get("thinking")
    thinking: list[Json] = []
    if thought:
        said = require_str(thought, f"{where}.thinking")
        thinking.append({"type": "thinking", "text": said, "provider": PROVIDER, **made_by(builder.model)})
    blocks = [*thinking, *_texts(message, where), *_media(message, where), *_calls(builder, message, where, place)]
    builder.add("assistant", blocks, preserve_keys(PROVIDER, message, _MESSAGE_KEYS))


def _calls(builder: HistoryBuilder, message: Json, where: str, prefix: str) -> Iterator[Json]:
    """Read the calls; those of older servers have no ids (rule O4)."""
    for index, value in enumerate(require_elements(message.get("tool_calls"), f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{index}]"
        call = require_map(value, place)
        function = require_map(call.get("function"), f"{place}.function")
        name = require_str(function.get("name"), f"{place}.function.name")
        call_id = builder.call_id(require_str(call.get("id") or "", f"{place}.id"), name, f"{prefix}{index}", place)
        yield {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments_of(function.get("arguments"))}


def _texts(message: Json, where: str) -> list[Json]:
    """Read the content: a text, or the texts of a list, as in other APIs (rule X12)."""
    content, where = message.get("content"), f"{where}.content"
    if content == "":
        return []
    return blocks_of(content, where, lambda part, place: text(require_str(part.get("text"), f"{place}.text")))


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
