"""Reads serialized messages of LangChain: a history, or a single answer."""

from collections.abc import Iterator

from reel.base.strict_json import Json
from reel.providers.anthropic import PROVIDER as ANTHROPIC
from reel.providers.anthropic import declined_blocks
from reel.providers.blocks import made_by, tool_call, tool_result
from reel.providers.content import shortest
from reel.providers.elements import Element, elements_of, invalid_at, require_str
from reel.providers.json_values import arguments_as_object
from reel.providers.metadata import opaque_block, preserve_keys
from reel.providers.roles import INSTRUCTION_ROLES
from reeld.formats.fields import LoadedRequest, Response, id_prefix, raise_provider_error, require_history, usage_in
from reeld.formats.history_builder import HistoryBuilder
from reeld.formats.langchain.envelope import Envelope, Maker, open_envelope
from reeld.formats.langchain.parts import content_blocks, signed
from reeld.formats.langchain.rules import CALL_SIGNATURES, PROVIDER

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
        builder.add("tool", [_result(builder, envelope.message)])
    else:
        content = list(_content(envelope.message, _NOBODY))
        role = {"role": envelope.role} if envelope.role in INSTRUCTION_ROLES else {}
        builder.add("user", content, _kept(envelope, **role))


def _with_ids(builder: HistoryBuilder, envelope: Envelope, place: str) -> list[Json]:
    """Return the assistant's blocks, each call with an id (rule X12)."""
    blocks = list(_answer(envelope, builder.model))
    for number, block in enumerate(blocks):
        if block["type"] == "tool_call":
            where = envelope.message.at("tool_calls")
            block["id"] = builder.call_id(block["id"], block["name"], f"{place}{number}", where)
    return blocks


def _content(message: Element, maker: Maker) -> Iterator[Json]:
    return content_blocks(message.get("content"), message.at("content"), maker)


def _result(builder: HistoryBuilder, message: Element) -> Json:
    call_id = builder.answered_id(message.get("tool_call_id"), message.get("name"), message.at("tool_call_id"))
    content = shortest(list(_content(message, _NOBODY)))
    kept = message.kept(PROVIDER, *_READ, "tool_call_id", "status", "name")
    return tool_result(call_id, content, kept, failed=message.get("status") == "error")


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
    fields = envelope.message.value
    builder = HistoryBuilder(PROVIDER, envelope.maker(model).model, made=id_prefix(fields, "id"))
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
    """Return the assistant's blocks: reasoning, content, calls; each once, in its place in the content (rule L3)."""
    message, maker = envelope.message, envelope.maker(model)
    beside = message.get("additional_kwargs")
    reasoning = beside.get("reasoning_content") if type(beside) is dict else None
    said = list(_content(message, maker))
    if type(reasoning) is str and reasoning and not any(block["type"] == "thinking" for block in said):
        provider = maker.provider or "openai"
        yield {"type": "thinking", "text": reasoning, "provider": provider, **made_by(maker.model)}
    signatures = beside.get(CALL_SIGNATURES) if type(beside) is dict else None
    calls = list(_signed_calls(message, signatures if type(signatures) is dict else {}, maker))
    known = {call["id"] for call in calls}
    declined = declined_blocks(said) or 0
    for place, block in enumerate(said):
        if block["type"] != "tool_call":
            yield block
            continue
        call = next((call for call in calls if call["id"] == block["id"]), None)
        if call is not None:
            calls.remove(call)
        if place < declined:
            yield _given_up(block, maker)
        elif call is not None or block["id"] not in known:
            yield call or block
    yield from calls


def _given_up(call: Json, maker: Maker) -> Json:
    """Return a call of a model that declined: nobody is to carry it out (rule A17)."""
    asked = {"id": call["id"], "name": call["name"], "input": arguments_as_object(call["arguments"])}
    return opaque_block(ANTHROPIC, {"type": "tool_use", **asked}, maker.model)


def _signed_calls(message: Element, signatures: Json, maker: Maker) -> Iterator[Json]:
    for call in (*_calls(message, "tool_calls"), *_calls(message, "invalid_tool_calls")):
        signature = signatures.get(call["id"])
        yield {**call, **signed(signature, maker)} if type(signature) is str and signature else call


def _calls(message: Element, key: str) -> Iterator[Json]:
    for call in elements_of(message.get(key), message.at("tool_calls")):
        source = call if call.get("function") is None else call.inside("function")
        own = "" if call.get("id") is None else call.text("id")
        name = require_str(source.get("name"), call.at("name"))
        yield tool_call(own, name, source.value.get("args", source.get("arguments")))


def _kept(envelope: Envelope, **own: str) -> Json:
    """Return the remaining fields of a message as its metadata (rule L5)."""
    fields = {**envelope.message.value, "role": None, **own}
    return preserve_keys(PROVIDER, fields, [key for key in _READ if key not in own])
