"""Reads requests and responses of Ollama's API: both have the same messages."""

import base64
import binascii
from collections.abc import Iterator

from reel.base.strict_json import Json
from reel.providers.blocks import blocks_of, made_by, text, tool_result
from reel.providers.content import ANY_PICTURE, media_from
from reel.providers.elements import Element, invalid_at, require_elements, require_map, require_role, require_str
from reel.providers.metadata import preserve_keys
from reel.providers.roles import INSTRUCTION_ROLES
from reeld.formats.fields import LoadedRequest, Response, history_of, id_prefix
from reeld.formats.history_builder import HistoryBuilder
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
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    for index, message in enumerate(history_of(body, "messages", _API)):
        _add(builder, message, f"{index}_")
    return builder.loaded(body, ("messages", "model"))


def _add(builder: HistoryBuilder, message: Element, place: str) -> None:
    given = message.get("role")
    # The server ignores the case of a role.
    role = require_role(given.lower() if type(given) is str else given, message.at("role"), _API)
    if role == "assistant":
        _add_answer(builder, message, place)
    elif role == "tool":
        builder.add("tool", [_result(builder, message)])
    else:
        kept = {**message.value, "role": role if role in INSTRUCTION_ROLES else None}
        builder.add("user", [*_texts(message), *_media(message)], preserve_keys(PROVIDER, kept, _MESSAGE_KEYS[1:]))


def _result(builder: HistoryBuilder, message: Element) -> Json:
    name = message.get("tool_name") or message.get("name")
    call_id = builder.answered_id(message.get("tool_call_id"), name, message.at("tool_call_id"))
    texts, media = _texts(message), _media(message)
    content = [*texts, *media] if media or len(texts) > 1 else "".join(block["text"] for block in texts)
    return tool_result(call_id, content, message.kept(PROVIDER, *_MESSAGE_KEYS))


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
    message = Element(require_map(body["message"], "message"), "message")
    builder = HistoryBuilder(PROVIDER, body.get("model"), model, made=id_prefix(body, "created_at"))
    _add_answer(builder, message, "")
    return builder.answer(
        {**message.value, **body},
        (*_MESSAGE_KEYS, *_USAGE, "model", "message", "done", "done_reason"),
        finish_reason=body.get("done_reason"),
        usage={key: body[key] for key in _USAGE if body.get(key) is not None} or None,
    )


def _add_answer(builder: HistoryBuilder, message: Element, place: str) -> None:
    """Add an assistant's message: its thinking, text, media and calls."""
    thought = message.text_or_none("thinking")
    thinking = {"type": "thinking", "text": thought, "provider": PROVIDER, **made_by(builder.model)}
    blocks = [*([thinking] if thought else []), *_texts(message), *_media(message), *_calls(builder, message, place)]
    builder.add("assistant", blocks, message.kept(PROVIDER, *_MESSAGE_KEYS))


def _calls(builder: HistoryBuilder, message: Element, prefix: str) -> Iterator[Json]:
    """Read the calls; those of older servers have no ids (rule O4)."""
    for index, call in enumerate(message.elements("tool_calls")):
        function = call.inside("function")
        yield builder.call(call, function.text("name"), function.get("arguments"), f"{prefix}{index}")


def _texts(message: Element) -> list[Json]:
    """Read the content: a text, or the texts of a list, as in other APIs (rule X12)."""
    content = message.get("content")
    return [] if content == "" else blocks_of(content, message.at("content"), lambda part: text(part.text("text")))


def _media(message: Element) -> list[Json]:
    images, where = message.get("images"), message.at("images")
    given = [images] if type(images) is str else require_elements(images, where)
    return [_picture(require_str(value, f"{where}[{index}]")) for index, value in enumerate(given)]


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
