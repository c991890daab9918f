"""Reads serialized messages of LangChain: a history, or a single answer."""

from collections.abc import Iterator
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import shortest
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
    require_str,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder
from reeld.formats.langchain.envelope import Envelope, Maker, open_envelope
from reeld.formats.langchain.parts import content_blocks, signed
from reeld.formats.langchain.rules import CALL_SIGNATURES, PROVIDER
from reeld.formats.metadata import preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES

# The fields of a message that are content, or repeat other data.
_READ = ("type", "role", "content", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "chunk_position", "example")
# The maker of messages of unknown origin.
_NOBODY = Maker(None, None)


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a history: a map with ``messages``, such as the state of a graph.

    Args:
        body: the whole object.
        model: the model that wrote the assistant's messages, if they do not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, model)
    for index, found in enumerate(require_history(body.get("messages"), "messages", "LangChain")):
        _add(builder, open_envelope(found, f"messages[{index}]"), f"{index}_")
    return builder.loaded(body, ("messages",))


def _add(builder: HistoryBuilder, envelope: Envelope, place: str) -> None:
    if envelope.role == "assistant":
        builder.add("assistant", _with_ids(builder, envelope, place), _kept(envelope))
    elif envelope.role == "tool":
        builder.add("tool", [_result(builder, envelope)])
    else:
        content = list(content_blocks(envelope.fields.get("content"), f"{envelope.where}.content", _NOBODY))
        role = {"role": envelope.role} if envelope.role in INSTRUCTION_ROLES else {}
        builder.add("user", content, _kept(envelope, **role))


def _with_ids(builder: HistoryBuilder, envelope: Envelope, place: str) -> list[Json]:
    """Return the assistant's blocks, each call with an id (rule X12)."""
    blocks = list(_answer(envelope, builder.model))
    for number, block in enumerate(blocks):
        if block["type"] == "tool_call":
            where = f"{envelope.where}.tool_calls"
            block["id"] = builder.call_id(block["id"], block["name"], f"{place}{number}", where)
    return blocks


def _result(builder: HistoryBuilder, envelope: Envelope) -> Json:
    fields, where = envelope.fields, envelope.where
    return {
        "type": "tool_result",
        "tool_call_id": builder.answered_id(fields.get("tool_call_id"), fields.get("name"), f"{where}.tool_call_id"),
        "content": shortest(list(content_blocks(fields.get("content"), f"{where}.content", _NOBODY))),
        "is_error": fields.get("status") == "error",
        **preserve_keys(PROVIDER, fields, (*_READ, "tool_call_id", "status", "name")),
    }


def read_response(body: Json, model: str | None = None) -> Response:
    """Read an answer: one serialized assistant message.

    Args:
        body: the message, in any form of LangChain's.
        model: the model that answered, if the message does not name it.

    Raises:
        InvalidMessage: it is not a message of the assistant's; ``data.field`` is the place.
    """
    raise_provider_error(body)
    envelope = open_envelope(body, "body")
    if envelope.role != "assistant":
        raise invalid_at("body", f"expected a message of the type ai, got one of the {envelope.role}'s")
    fields = envelope.fields
    builder = HistoryBuilder(PROVIDER, envelope.maker(model).model, f"call_{id_prefix(fields, 'id')}")
    builder.add("assistant", _with_ids(builder, envelope, ""))
    found = fields.get("response_metadata")
    ended = found if type(found) is dict else {}
    return builder.answer(
        fields,
        (*_READ, "id", "usage_metadata"),
        response_id=fields.get("id"),
        finish_reason=next((ended[key] for key in ("finish_reason", "stop_reason") if ended.get(key)), None),
        usage=usage_in(fields, "usage_metadata"),
    )


def _answer(envelope: Envelope, model: str | None) -> Iterator[Json]:
    """Return the assistant's blocks: reasoning, the content, the calls; each call once (rule L3)."""
    fields, where, maker = envelope.fields, envelope.where, envelope.maker(model)
    calls = [*_calls(fields.get("tool_calls"), where), *_calls(fields.get("invalid_tool_calls"), where)]
    known = {call["id"] for call in calls}
    beside = fields.get("additional_kwargs")
    reasoning = beside.get("reasoning_content") if type(beside) is dict else None
    said = list(content_blocks(fields.get("content"), f"{where}.content", maker))
    if type(reasoning) is str and reasoning and not any(block["type"] == "thinking" for block in said):
        named = {"model": maker.model} if maker.model else {}
        yield {"type": "thinking", "text": reasoning, "provider": maker.provider or "openai", **named}
    yield from (block for block in said if block["type"] != "tool_call" or block["id"] not in known)
    signatures = beside.get(CALL_SIGNATURES) if type(beside) is dict else None
    for call in calls:
        signature = signatures.get(call["id"]) if type(signatures) is dict else None
        yield {**call, **signed(signature, maker)} if type(signature) is str and signature else call


def _calls(given: Any, where: str) -> Iterator[Json]:
    for index, element in enumerate(require_elements(given, f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{index}]"
        call = require_map(element, place)
        function = call.get("function")
        source = require_map(function, f"{place}.function") if function is not None else call
        own = call.get("id")
        yield {
            "type": "tool_call",
            "id": require_str(own, f"{place}.id") if own is not None else "",
            "name": require_str(source.get("name"), f"{place}.name"),
            "arguments": arguments_of(source.get("args", source.get("arguments"))),
        }


def _kept(envelope: Envelope, **own: str) -> Json:
    """Return the remaining fields of a message as its metadata (rule L5)."""
    return preserve_keys(PROVIDER, {**envelope.fields, "role": None, **own}, [key for key in _READ if key not in own])
