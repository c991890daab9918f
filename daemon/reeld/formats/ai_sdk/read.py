"""Reads conversations of the AI SDK: ``ModelMessage`` and ``UIMessage``, also mixed (rule V2)."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import made_by, privileged, text, tool_call, tool_result
from reel.providers.content import ANY_PICTURE, media_from
from reel.providers.elements import Element, elements_of, require_str
from reel.providers.json_values import dump
from reel.providers.metadata import opaque_block, preserve_keys
from reel.providers.roles import INSTRUCTION_ROLES, split_by_role
from reeld.formats.ai_sdk.options import (
    KEPT,
    PROVIDER,
    encrypted_in,
    keep_options,
    redacted_in,
    signature_in,
    with_rest,
)
from reeld.formats.ai_sdk.ui import DENIED, Spoken, spoken
from reeld.formats.fields import LoadedRequest, history_of
from reeld.formats.history_builder import HistoryBuilder

_API = "the AI SDK"
# The default type of media.
_UNKNOWN = "application/octet-stream"
# The outputs of a tool that are more than a text, and those that report a failure.
_JSON_OUTPUTS = ("json", "error-json")
_FAILURES = ("error-text", "error-json", "execution-denied")
# The parts of a content that are a file, with the key of its bytes or URL.
_FILES = {
    "file": "data",
    "file-data": "data",
    "file-url": "url",
    "image": "image",
    "image-data": "data",
    "image-url": "url",
    "media": "data",
}


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a conversation.

    Args:
        body: an object with its ``messages``: the input of ``streamText``, or the output of ``useChat``.
        model: the model that wrote the assistant's messages; the AI SDK does not record it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    key = "prompt" if body.get("messages") is None and body.get("prompt") is not None else "messages"
    given = [{"role": "user", "content": body[key]}] if type(body.get(key)) is str else body.get(key)
    builder = HistoryBuilder(PROVIDER, model)
    reader = _MessageReader(builder)
    for found in history_of({key: given}, key, _API):
        reader.add(found)
    prompt = [each for name in ("system", "instructions") for each in _instructions(body.get(name), name)]
    return builder.loaded(body, (key, "system", "instructions", "model"), *prompt)


def _instructions(given: Any, where: str) -> Iterator[list[Json]]:
    """Read instructions beside the messages: a text, a system message, or several."""
    for found in elements_of([{"content": given}] if type(given) is str else given, where):
        yield [text(found.text("content"))]


class _MessageReader:
    """Reads messages one by one, and adds them to a builder."""

    def __init__(self, builder: HistoryBuilder) -> None:
        self._builder = builder
        self._model = builder.model
        # The ids of calls that the provider runs itself.
        self._served: set[str] = set()

    def add(self, found: Element) -> None:
        """Add a message; keys beside its parts are kept with the first resulting message."""
        role = found.role(_API)
        beside = {key: value for key, value in found.value.items() if key not in ("role", "content", "parts")}
        own_role = {"role": role} if role in INSTRUCTION_ROLES else {}
        kept = preserve_keys(PROVIDER, {**beside, "role": None, **own_role})
        for said in _spoken(role, found):
            blocks = list(self._blocks(said.parts, "user" if said.role in INSTRUCTION_ROLES else said.role))
            speaker = "assistant" if said.role == "assistant" else "user"
            for owner, content in split_by_role(blocks, speaker):
                self._builder.add(owner, content, kept)
                kept = privileged(PROVIDER, role)

    def _blocks(self, parts: list[Element], role: str) -> Iterator[Json]:
        model = self._model if role == "assistant" else None
        reasoning: list[Element] = []
        for part in parts:
            if reasoning and not _continues(reasoning[-1].value, part.value):
                yield _item(reasoning, self._model)
                reasoning = []
            if part.value.get("type") == "reasoning" and encrypted_in(_options(part)) is not None:
                reasoning.append(part)
            else:
                yield self._block(part, model)
        if reasoning:
            yield _item(reasoning, self._model)

    def _block(self, part: Element, model: str | None) -> Json:
        kind, options = part.get("type"), _options(part)
        call_id = part.get("toolCallId")
        served = part.get("providerExecuted") is True or (type(call_id) is str and call_id in self._served)
        if kind == "text":
            return keep_options(text(part.text("text")), options, model)
        if kind == "reasoning":
            return _reasoning(part, options, model)
        if kind == "tool-call" and not served:
            return keep_options(self._call(part), options, model)
        if kind == "tool-result" and not served:
            return with_rest(self._result(part), options)
        if kind == "tool-call" and type(call_id) is str:
            self._served.add(call_id)
        block = _media(part) if kind in ("file", "image") else None
        return opaque_block(PROVIDER, part.value) if block is None else keep_options(block, options, model)

    def _call(self, part: Element) -> Json:
        name, given = part.text("toolName"), part.text_or_none("toolCallId")
        place = f"{len(self._builder.messages)}_{''.join(filter(str.isalnum, part.where))}"
        call_id = self._builder.call_id(given, name, place, part.where)
        return tool_call(call_id, name, part.value.get("input", part.get("args")))

    def _result(self, part: Element) -> Json:
        """Read a result; one of an earlier version has a plain ``result`` in place of an ``output``."""
        call_id = self._builder.answered_id(part.get("toolCallId"), part.get("toolName"), part.at("toolCallId"))
        output = part.get("output")
        if type(output) is not dict or type(output.get("type")) is not str:
            plain = part.get("result") if output is None else output
            failed = "error-" if part.get("isError") is True else ""
            output = {"type": f"{failed}{'text' if type(plain) is str else 'json'}", "value": plain}
        kind = output["type"]
        kept = preserve_keys(
            PROVIDER, {"output": None if kind in ("text", "content") else kind, "outputOptions": output.get(KEPT)}
        )
        return tool_result(call_id, _output(Element(output, part.at("output"))), kept, failed=kind in _FAILURES)


def _spoken(role: str, found: Element) -> list[Spoken]:
    """Convert a message to the form for a model: a UIMessage has parts, a ModelMessage content."""
    if type(found.get("parts")) is list:
        return list(spoken(role, found.get("parts"), found.at("parts"))) or [Spoken(role, [])]
    content = found.get("content")
    if type(content) is str:
        return [Spoken(role, [Element(text(content), found.at("content"))])]
    return [Spoken(role, list(found.elements("content")))]


def _options(part: Element) -> Json:
    return {} if part.get(KEPT) is None else part.inside(KEPT).value


def _reasoning(part: Element, options: Json, model: str | None) -> Json:
    """Read a reasoning that is not an item of OpenAI's (rule V4)."""
    maker = made_by(model)
    hidden, signed = redacted_in(options), signature_in(options)
    if hidden is not None:
        block: Json = {"type": "redacted_thinking", "data": hidden.value, "provider": hidden.provider, **maker}
        return with_rest(block, options)
    block = {"type": "thinking", "text": _summary(part)}
    if signed is not None:
        block |= {"provider": signed.provider, **maker, "signature": signed.value}
    return with_rest(block, options)


def _summary(part: Element) -> str:
    return require_str(part.value.get("text", ""), part.at("text"))


def _continues(before: Json, part: Json) -> bool:
    """Whether a part is a further summary of the reasoning item of an earlier part."""
    options = part.get(KEPT)
    after = encrypted_in(options) if part.get("type") == "reasoning" and type(options) is dict else None
    item = encrypted_in(before[KEPT])
    return after is not None and item is not None and item.item_id is not None and after.item_id == item.item_id


def _item(parts: list[Element], model: str | None) -> Json:
    """Return the OpenAI reasoning item of some summary parts, which are kept beside it."""
    found = [encrypted_in(_options(part)) for part in parts]
    ids = [each.item_id for each in found if each is not None and each.item_id is not None]
    contents = [each.content for each in found if each is not None and each.content is not None]
    texts = list(map(_summary, parts))
    item = {
        "type": "reasoning",
        **({"id": ids[0]} if ids else {}),
        "summary": [{"type": "summary_text", "text": text} for text in texts if text],
        **({"encrypted_content": contents[-1]} if contents else {}),
    }
    kept = preserve_keys("openai", {"parts": [part.value for part in parts]})
    return {**opaque_block("openai", item, model if contents else None), **kept}


def _output(output: Element) -> str | list[Json]:
    """Read the output of a tool."""
    kind, value = output.get("type"), output.get("value")
    if kind == "execution-denied":
        return str(output.get("reason") or DENIED)
    if kind != "content":
        return value if type(value) is str and kind not in _JSON_OUTPUTS else dump(value)
    return [_in_output(part) for part in output.elements("value")] or ""


def _in_output(part: Element) -> Json:
    options = _options(part)
    if part.get("type") == "text":
        return with_rest(text(part.text("text")), options)
    media = _media(part)
    return opaque_block(PROVIDER, part.value) if media is None else with_rest(media, options)


def _media(part: Element) -> Json | None:
    """Read a file; ``None`` if it exists only at a provider."""
    kind = part.get("type")
    key = _FILES.get(kind) if type(kind) is str else None
    if key is None:
        return None
    given = part.get("mediaType") or part.get("mimeType")
    expected = ANY_PICTURE if str(kind).startswith("image") else _UNKNOWN
    mime = _full_type(require_str(given, part.at("mediaType"))) if given is not None else expected
    block = _file(part.get(key), mime)
    name = part.get("filename")
    return {**block, "name": name} if block is not None and type(name) is str and name else block


def _file(data: Any, mime: str) -> Json | None:
    """Return the media block of a file: a URL, base64, bytes in a JSON form, or any of these with a tag."""
    tag = data.get("type") if type(data) is dict else None
    if tag in ("data", "url"):
        return _file(data.get(tag), mime)
    if tag == "text" and type(data.get("text")) is str:
        encoded = b64encode(data["text"].encode("utf-8", "replace")).decode()
        return {"type": "media", "mime_type": mime, "data_base64": encoded}
    if type(data) is str:
        if ":" in data:
            return media_from(data, mime)
        return {"type": "media", "mime_type": mime, "data_base64": data}
    found = _bytes(data)
    return None if found is None else {"type": "media", "mime_type": mime, "data_base64": b64encode(found).decode()}


def _bytes(value: Any) -> bytes | None:
    """Return the bytes of a Buffer or a Uint8Array in the form that ``JSON.stringify`` writes (rule X12)."""
    if type(value) is not dict or not value:
        return None
    if value.get("type") == "Buffer":
        numbers = value.get("data")
    else:
        numbers = [value.get(str(index)) for index in range(len(value))]
    if type(numbers) is not list or not all(type(number) is int and 0 <= number < 1 << 8 for number in numbers):
        return None
    return bytes(numbers)


def _full_type(mime: str) -> str:
    """Return a MIME type; the AI SDK may give only the first half."""
    return mime if "/" in mime else f"{mime}/*"
