"""Reads requests and responses of Converse: both have the same blocks."""

from collections.abc import Callable
from typing import Any

from reel.strict_json import Json
from reeld.formats.bedrock_converse.media import MIME_TYPES
from reeld.formats.bedrock_converse.rules import PROVIDER
from reeld.formats.bedrock_converse.write import CACHE_POINT
from reeld.formats.content import shortest
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    invalid_at,
    require_elements,
    require_history,
    require_list,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder, instructions, known_model, privileged, text
from reeld.formats.json_values import dump
from reeld.formats.metadata import opaque_block, preserve_keys
from reeld.formats.model import Change, split_by_role

_API = "Bedrock Converse"
# The keys that only the SDK adds to a response.
_SDK = "ResponseMetadata"
# The keys of media that have a neutral form.
_MEDIA_KEYS = ("format", "name", "source")
_ASSISTANT, _USER = "assistant", "user"


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``. Bytes are base64.
        model: the model that wrote the assistant's messages, if the body does not name it (``modelId``).

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, known_model(body.get("modelId"), model))
    reader = _BlockReader(builder)
    for index, found in enumerate(require_history(body.get("messages"), "messages", _API)):
        reader.add(require_map(found, f"messages[{index}]"), f"messages[{index}]")
    prompt = instructions(PROVIDER, reader.blocks(body.get("system"), "system", _USER))
    return builder.loaded(body, ("messages", "system", "modelId"), prompt)


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``output``. Bytes are base64.
        model: the requested model; a prompt router names the one that answered.

    Raises:
        InvalidMessage: the body is not an answer; ``data.field`` is the place.
    """
    message = require_map(require_map(body.get("output"), "output").get("message"), "output.message")
    builder = HistoryBuilder(PROVIDER, known_model(_answered(body), model))
    where = "output.message.content"
    blocks = _BlockReader(builder).blocks(message.get("content"), where, _ASSISTANT)
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result":
            raise invalid_at(f"{where}[{index}]", "an answer cannot contain the result of a client's tool")
    builder.add(_ASSISTANT, blocks)
    sdk = body.get(_SDK)
    return builder.answer(
        body,
        ("output", "stopReason", "usage", _SDK),
        response_id=sdk.get("RequestId") if type(sdk) is dict else None,
        finish_reason=body.get("stopReason"),
        usage=usage_in(body),
    )


def _answered(body: Json) -> str | None:
    """Return the model that a prompt router chose."""
    found: Any = body
    for key in ("trace", "promptRouter", "invokedModelId"):
        found = found.get(key) if type(found) is dict else None
    return found if type(found) is str else None


class _BlockReader:
    """Reads the blocks of a history, and adds its messages to a builder."""

    def __init__(self, builder: HistoryBuilder) -> None:
        self._builder = builder

    def add(self, found: Json, where: str) -> None:
        """Add one message: one for each role that its blocks belong to."""
        role = require_role(found.get("role"), f"{where}.role", _API)
        speaker = _ASSISTANT if role == _ASSISTANT else _USER
        for owner, run in split_by_role(self.blocks(found.get("content"), f"{where}.content", speaker), speaker):
            self._builder.add(owner, run, privileged(PROVIDER, role))

    def blocks(self, content: Any, where: str, speaker: str) -> list[Json]:
        """Read the blocks of some content; a cache point belongs to the block before it."""
        blocks: list[Json] = []
        given = [content] if type(content) is str else require_elements(content, where)
        for index, value in enumerate(given):
            place = f"{where}[{index}]"
            found = {"text": value} if type(value) is str else _only_key(require_map(value, place), place)
            if CACHE_POINT not in found:
                blocks += self._block(found, place, speaker)
            elif blocks and blocks[-1]["type"] not in ("thinking", "redacted_thinking"):
                kept = blocks[-1].get("provider_metadata", {})
                added = preserve_keys(PROVIDER, found).get("provider_metadata", {})
                blocks[-1] = {**blocks[-1], "provider_metadata": {**kept, **added}}
            else:
                why = f"{place}: a cache point with no content before it"
                self._builder.report.append(Change(None, None, "dropped", why))
        return blocks

    def _block(self, found: Json, where: str, speaker: str) -> list[Json]:
        """Read a block; one without a neutral form is kept whole."""
        kind = next(iter(found))
        is_assistant = speaker == _ASSISTANT
        served = is_assistant and type(found[kind]) is dict and found[kind].get("type") is not None
        if kind == "toolResult" and not served:
            return [self._result(require_map(found[kind], f"{where}.{kind}"), f"{where}.{kind}")]
        read = None if served else _READERS.get(kind)
        block = read(found[kind], f"{where}.{kind}") if read else None
        if block is None:
            block = opaque_block(PROVIDER, found)
        if is_assistant and self._builder.model is not None:
            _note_model(block, self._builder.model)
        return [block]

    def _result(self, found: Json, where: str) -> Json:
        blocks = []
        for index, value in enumerate(require_elements(found.get("content"), f"{where}.content")):
            place = f"{where}.content[{index}]"
            part = {"text": value} if type(value) is str else _only_key(require_map(value, place), place)
            blocks += [_object(part["json"])] if "json" in part else self._block(part, place, _USER)
        return {
            "type": "tool_result",
            "tool_call_id": require_str(found.get("toolUseId"), f"{where}.toolUseId"),
            "content": shortest(blocks),
            "is_error": found.get("status") == "error",
        }


def _note_model(block: Json, model: str) -> None:
    """Record the model of data that only the same model reads: thinking, a block kept whole, citations."""
    if block["type"] in ("thinking", "redacted_thinking", "opaque"):
        block["model"] = model
    elif "citations_json" in block.get("provider_metadata", {}):
        block["provider_metadata"]["model"] = model


def _only_key(found: Json, where: str) -> Json:
    """Return a block without null members: it is a union, of which one member is set (rule B3)."""
    kept = {key: value for key, value in found.items() if value is not None}
    if len(kept) != 1:
        raise invalid_at(where, f"expected an object with one key, got {len(kept)}")
    return kept


def _object(value: Any) -> Json:
    """Read the object that a tool returned: its text, marked so that it goes back as an object."""
    return {"type": "text", "text": dump(value), "provider_metadata": {"provider": PROVIDER, "json": True}}


def _plain(value: Any, where: str) -> Json:
    return text(require_str(value, where))


def _cited(value: Any, where: str) -> Json:
    """Read a text with citations."""
    found = require_map(value, where)
    parts = [
        require_map(part, f"{where}.content") for part in require_elements(found.get("content"), f"{where}.content")
    ]
    said = "".join(require_str(part.get("text"), f"{where}.content.text") for part in parts)
    return {**text(said), **preserve_keys(PROVIDER, {"citations": require_list(found.get("citations") or [], where)})}


def _guarded(value: Any, where: str) -> Json | None:
    """Read a text that a guardrail looks at; a picture is kept whole."""
    found = require_map(value, where).get("text")
    if found is None:
        return None
    guarded = require_map(found, f"{where}.text")
    kept = {"guard": guarded.get("qualifiers") or True}
    return {**text(require_str(guarded.get("text"), f"{where}.text.text")), **preserve_keys(PROVIDER, kept)}


def _reasoning(value: Any, where: str) -> Json | None:
    found = require_map(value, where)
    if found.get("redactedContent") is not None:
        data = require_str(found["redactedContent"], f"{where}.redactedContent")
        return {"type": "redacted_thinking", "data": data, "provider": PROVIDER}
    given = require_map(found.get("reasoningText"), f"{where}.reasoningText")
    thought = require_str(given.get("text"), f"{where}.reasoningText.text")
    signature = given.get("signature")
    signed = {"signature": require_str(signature, f"{where}.reasoningText.signature")} if signature else {}
    return {"type": "thinking", "text": thought, "provider": PROVIDER, **signed}


def _call(value: Any, where: str) -> Json:
    """Read a call; a truncated input is a text, as received."""
    found = require_map(value, where)
    return {
        "type": "tool_call",
        "id": require_str(found.get("toolUseId"), f"{where}.toolUseId"),
        "name": require_str(found.get("name"), f"{where}.name"),
        "arguments": arguments_of(found.get("input")),
    }


def _media_of(kind: str) -> Callable[[Any, str], Json | None]:
    def read(value: Any, where: str) -> Json | None:
        """Read media as bytes; other sources, and a document with more than a name, are Bedrock's own."""
        found = require_map(value, where)
        source = require_map(found.get("source"), f"{where}.source")
        mime = MIME_TYPES.get((kind, str(found.get("format"))))
        data = source.get("bytes")
        beside = [key for key, inside in found.items() if inside is not None and key not in _MEDIA_KEYS]
        if mime is None or not data or beside:
            return None
        named = {"name": require_str(found["name"], f"{where}.name")} if found.get("name") else {}
        block = {"type": "media", "mime_type": mime, "data_base64": require_str(data, f"{where}.source.bytes"), **named}
        return {**block, "provider_metadata": {"provider": PROVIDER}}

    return read


_READERS: dict[str, Callable[[Any, str], Json | None]] = {
    "text": _plain,
    "citationsContent": _cited,
    "guardContent": _guarded,
    "reasoningContent": _reasoning,
    "toolUse": _call,
    **{kind: _media_of(kind) for kind in ("image", "document", "video", "audio")},
}
