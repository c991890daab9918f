"""Reads requests and responses of Converse: both have the same blocks."""

from functools import partial
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import PartReader, privileged, text, tool_call, tool_result
from reel.providers.changes import Change
from reel.providers.content import shortest
from reel.providers.elements import Element, invalid_at, require_elements, require_list, require_map
from reel.providers.json_values import dump
from reel.providers.metadata import opaque_block, preserve_keys
from reeld.formats.bedrock_converse.media import MIME_TYPES
from reeld.formats.bedrock_converse.rules import PROVIDER
from reeld.formats.bedrock_converse.write import CACHE_POINT
from reeld.formats.fields import LoadedRequest, Response, history_of, usage_in
from reeld.formats.history_builder import HistoryBuilder
from reeld.formats.model import is_thought

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
    builder = HistoryBuilder(PROVIDER, body.get("modelId"), model)
    for found in history_of(body, "messages", _API):
        role = found.role(_API)
        speaker = _ASSISTANT if role == _ASSISTANT else _USER
        blocks = _blocks(builder, found.get("content"), found.at("content"), speaker)
        builder.add_by_role(blocks, speaker, privileged(PROVIDER, role))
    prompt = _blocks(builder, body.get("system"), "system", _USER)
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
    builder = HistoryBuilder(PROVIDER, _answered(body), model)
    where = "output.message.content"
    blocks = _blocks(builder, message.get("content"), where, _ASSISTANT)
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


def _blocks(builder: HistoryBuilder, content: Any, where: str, speaker: str) -> list[Json]:
    """Read the blocks of some content; a cache point belongs to the block before it."""
    blocks: list[Json] = []
    for index, value in enumerate([content] if type(content) is str else require_elements(content, where)):
        found = _only_key(value, f"{where}[{index}]")
        if CACHE_POINT not in found.value:
            blocks.append(_block(found, speaker, builder.model))
        elif blocks and not is_thought(blocks[-1]):
            kept = {**blocks[-1].get("provider_metadata", {}), **found.kept(PROVIDER).get("provider_metadata", {})}
            blocks[-1] = {**blocks[-1], "provider_metadata": kept}
        else:
            builder.report.append(
                Change(None, None, "dropped", f"{found.where}: a cache point with no content before it")
            )
    return blocks


def _only_key(value: Any, where: str) -> Element:
    """Return a block without null members: it is a union, of which one member is set (rule B3)."""
    if type(value) is str:
        return Element({"text": value}, where)
    kept = {key: inside for key, inside in require_map(value, where).items() if inside is not None}
    if len(kept) != 1:
        raise invalid_at(where, f"expected an object with one key, got {len(kept)}")
    return Element(kept, where)


def _block(found: Element, speaker: str, model: str | None) -> Json:
    """Read a block; one without a neutral form is kept whole."""
    ((kind, value),) = found.value.items()
    is_assistant = speaker == _ASSISTANT
    served = is_assistant and type(value) is dict and value.get("type") is not None
    if kind == "toolResult" and not served:
        return _result(found.inside(kind), model)
    read = None if served else _READERS.get(kind)
    block = (read(found) if read else None) or opaque_block(PROVIDER, found.value)
    if is_assistant and model is not None:
        _note_model(block, model)
    return block


def _result(found: Element, model: str | None) -> Json:
    blocks = []
    for index, value in enumerate(require_elements(found.get("content"), found.at("content"))):
        part = _only_key(value, f"{found.at('content')}[{index}]")
        blocks.append(_object(part.value["json"]) if "json" in part.value else _block(part, _USER, model))
    return tool_result(found.text("toolUseId"), shortest(blocks), failed=found.get("status") == "error")


def _note_model(block: Json, model: str) -> None:
    """Record the model of data that only the same model reads: thinking, a block kept whole, citations."""
    if is_thought(block) or block["type"] == "opaque":
        block["model"] = model
    elif "citations_json" in block.get("provider_metadata", {}):
        block["provider_metadata"]["model"] = model


def _object(value: Any) -> Json:
    """Read the object that a tool returned: its text, marked so that it goes back as an object."""
    return {**text(dump(value)), "provider_metadata": {"provider": PROVIDER, "json": True}}


def _text(part: Element) -> Json:
    return text(part.text("text"))


def _cited(part: Element) -> Json:
    """Read a text with citations."""
    found = part.inside("citationsContent")
    where = found.at("content")
    said = "".join([Element(each.value, where).text("text") for each in found.elements("content")])
    return {**text(said), **preserve_keys(PROVIDER, {"citations": require_list(found.get("citations") or [], where)})}


def _guarded(part: Element) -> Json | None:
    """Read a text that a guardrail looks at; a picture is kept whole."""
    found = part.inside("guardContent")
    if found.get("text") is None:
        return None
    guarded = found.inside("text")
    return {**text(guarded.text("text")), **preserve_keys(PROVIDER, {"guard": guarded.get("qualifiers") or True})}


def _reasoning(part: Element) -> Json | None:
    found = part.inside("reasoningContent")
    if found.get("redactedContent") is not None:
        return {"type": "redacted_thinking", "data": found.text("redactedContent"), "provider": PROVIDER}
    given = found.inside("reasoningText")
    signed = {"signature": given.text("signature")} if given.get("signature") else {}
    # Newer models sign reasoning whose text is not shown (rule B8).
    words = given.text_or_none("text") or "" if signed else given.text("text")
    return {"type": "thinking", "text": words, "provider": PROVIDER, **signed}


def _call(part: Element) -> Json:
    found = part.inside("toolUse")
    return tool_call(found.text("toolUseId"), found.text("name"), found.get("input"))


def _media(kind: str, part: Element) -> Json | None:
    """Read media as bytes; other sources, and a document with more than a name, are Bedrock's own."""
    found = part.inside(kind)
    source = found.inside("source")
    mime = MIME_TYPES.get((kind, str(found.get("format"))))
    beside = [key for key, inside in found.value.items() if inside is not None and key not in _MEDIA_KEYS]
    if mime is None or not source.get("bytes") or beside:
        return None
    named = {"name": found.text("name")} if found.get("name") else {}
    block = {"type": "media", "mime_type": mime, "data_base64": source.text("bytes"), **named}
    return {**block, "provider_metadata": {"provider": PROVIDER}}


_READERS: dict[str, PartReader] = {
    "text": _text,
    "citationsContent": _cited,
    "guardContent": _guarded,
    "reasoningContent": _reasoning,
    "toolUse": _call,
    **{kind: partial(_media, kind) for kind in ("image", "document", "video", "audio")},
}
