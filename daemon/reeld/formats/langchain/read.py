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
    report_unused_keys,
    require_elements,
    require_history,
    require_map,
    require_str,
    response_metadata,
    usage_in,
)
from reeld.formats.langchain.envelope import Envelope, Maker, open_envelope
from reeld.formats.langchain.parts import content_blocks, signed
from reeld.formats.langchain.rules import CALL_SIGNATURES, PROVIDER
from reeld.formats.metadata import preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import system_message

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
    messages = require_history(body.get("messages"), "messages", "LangChain")
    reader = _MessageReader(model)
    read = [reader.read(open_envelope(message, f"messages[{n}]"), n) for n, message in enumerate(messages)]
    roles = enumerate(message.get("provider_metadata", {}).get("role") for message in read)
    first = next((index for index, role in roles if role not in INSTRUCTION_ROLES), len(read))
    loaded = [*system_message(PROVIDER, read[:first]), *read[first:]]
    return LoadedRequest(loaded, [*reader.pairing.report, *report_unused_keys(body, ("messages",))])


class _MessageReader:
    """Reads messages one by one, and pairs results with calls that have no id."""

    def __init__(self, model: str | None) -> None:
        self.pairing = Pairing()
        self._model = model

    def read(self, envelope: Envelope, index: int) -> Json:
        """Read the message at an index."""
        if envelope.role == "assistant":
            blocks = self._with_ids(list(_answer(envelope, self._model)), index, envelope.where)
            return {"role": "assistant", "content": blocks or [_text("")], **_kept(envelope)}
        if envelope.role == "tool":
            return self._result(envelope)
        content = list(content_blocks(envelope.fields.get("content"), f"{envelope.where}.content", _NOBODY))
        role = {"role": envelope.role} if envelope.role in INSTRUCTION_ROLES else {}
        return {"role": "user", "content": content or [_text("")], **_kept(envelope, **role)}

    def _with_ids(self, blocks: list[Json], index: int, where: str) -> list[Json]:
        """Assign an id to each call without one (rule X12)."""
        for number, block in enumerate(blocks):
            if block["type"] == "tool_call":
                made = f"call_{index}_{number}"
                if block["id"]:
                    self.pairing.add_call(block["id"], block["name"])
                else:
                    block["id"] = self.pairing.add_call_without_id(made, block["name"], f"{where}.tool_calls")
        return blocks

    def _result(self, envelope: Envelope) -> Json:
        fields, where = envelope.fields, envelope.where
        own = fields.get("tool_call_id")
        name = None if own else fields.get("name")
        content = shortest(list(content_blocks(fields.get("content"), f"{where}.content", _NOBODY)))
        result = {
            "type": "tool_result",
            "tool_call_id": self.pairing.id_for_result(own, name, f"{where}.tool_call_id"),
            "content": content,
            "is_error": fields.get("status") == "error",
            **preserve_keys(PROVIDER, fields, (*_READ, "tool_call_id", "status", "name")),
        }
        return {"role": "tool", "content": [result]}


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
    fields, maker = envelope.fields, envelope.maker(model)
    blocks = list(_answer(envelope, model))
    for number, block in enumerate(blocks):
        if block["type"] == "tool_call" and not block["id"]:
            block["id"] = f"call_{id_prefix(fields, 'id')}_{number}"
    found = fields.get("response_metadata")
    ended = found if type(found) is dict else {}
    usage = usage_in(fields, "usage_metadata")
    metadata = response_metadata(
        PROVIDER,
        fields,
        (*_READ, "id", "usage_metadata"),
        model=maker.model,
        response_id=fields.get("id"),
        finish_reason=next((ended[key] for key in ("finish_reason", "stop_reason") if ended.get(key)), None),
        usage=usage,
    )
    message = {"role": "assistant", "content": blocks or [_text("")], "provider_metadata": metadata}
    return Response(message, usage)


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


def _text(value: str) -> Json:
    return {"type": "text", "text": value}


def _kept(envelope: Envelope, **own: str) -> Json:
    """Return the remaining fields of a message as its metadata (rule L5)."""
    return preserve_keys(PROVIDER, {**envelope.fields, "role": None, **own}, [key for key in _READ if key not in own])
