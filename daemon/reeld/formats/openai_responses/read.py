"""Reads requests and responses of Responses: both have the same items, and consecutive output forms one message."""

import re
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import ANY_PICTURE, media_from, shortest
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    error_message,
    invalid_at,
    raise_provider_error,
    require_elements,
    require_history,
    require_list,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.history_builder import (
    HistoryBuilder,
    PartReader,
    blocks_of,
    by_type,
    instructions,
    known_model,
    text,
)
from reeld.formats.json_values import dump
from reeld.formats.metadata import opaque_block, preserve_keys
from reeld.formats.model import INSTRUCTION_ROLES
from reeld.formats.openai import PROVIDER, custom_tool_arguments
from reeld.formats.openai_responses.items import CALL_KINDS, OUTPUT_KINDS, call_half

_API = "Responses"
# The keys with which a request continues a history outside of its body (rule R8).
_OUTSIDE = ("previous_response_id", "conversation", "prompt")
# The states of a response that is incomplete (rule R9).
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled")
# The keys of a response that are read, and those that repeat the request, of any size, or the answer (rule R11).
_READ = ("id", "object", "model", "output", "usage", "output_text", "instructions", "tools")
# Client items that are neither messages nor outputs.
_CLIENT_ITEMS = ("additional_tools", "configuration_update", "compaction_trigger")
# The kinds of calls and outputs with a neutral form but for a few keys; the others are kept whole.
_PLAIN_CALLS = ("function_call", "custom_tool_call")
_PLAIN_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``input``.
        model: the model that wrote the assistant's items, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not an item, or the history begins outside the body; ``data.field`` is the
            place.
    """
    for key in _OUTSIDE:
        if body.get(key) is not None:
            raise invalid_at(key, "the history begins outside this body; load a request that contains all of it")
    given = body.get("input")
    items = require_history([given] if type(given) is str else given, "input", _API)
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    reader = _ItemReader(builder)
    for index, item in enumerate(items):
        reader.add(item, f"input[{index}]")
    return builder.loaded(body, ("input", "instructions", "model"), instructions(PROVIDER, _prompt(body)))


def _prompt(body: Json) -> list[Json]:
    given = body.get("instructions")
    return [] if given is None else [text(require_str(given, "instructions"))]


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body: all its items are one message.

    Args:
        body: the whole object, with its ``output``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer; ``data.field`` is the place.
    """
    if not body.get("output"):
        raise_provider_error(body)
    if "output" not in body:
        raise invalid_at("output", f"is missing; a response of {_API} has it")
    items = require_list(body["output"], "output")
    if not items and body.get("status") in _UNFINISHED:
        raise invalid_at("output", f"is empty, and the response is {body['status']}; ingest it when it is complete")
    details = body.get("incomplete_details")
    reason = details.get("reason") if type(details) is dict else None
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    reader = _ItemReader(builder)
    served = _answered(items)
    for index, item in enumerate(items):
        reader.add(item, f"output[{index}]", served=index in served)
    return builder.answer(
        body,
        (*_READ, "status") if reason is None else _READ,
        broke_off=_why_incomplete(body),
        response_id=body.get("id"),
        finish_reason=reason or body.get("status"),
        usage=usage_in(body),
    )


def _why_incomplete(body: Json) -> str | None:
    if body.get("status") not in _UNFINISHED:
        return None
    error = body.get("error")
    return f"the response is {body['status']}" + ("" if error is None else f": {error_message(error)}")


def _answered(items: list[Any]) -> frozenset[int]:
    """Return the numbers of the items that the server answered a call with, and of these calls (rule R12)."""
    calls: dict[str, int] = {}
    found: set[int] = set()
    for index, item in enumerate(items):
        half = call_half(item) if type(item) is dict else None
        if half is not None and half.is_call:
            calls.setdefault(half.key, index)
        elif type(item) is dict and _type_of(item) in OUTPUT_KINDS:
            found.update((index, index if half is None else calls.pop(half.key, index)))
    return frozenset(found)


class _ItemReader:
    """Reads items in order, and adds their messages to a builder."""

    def __init__(self, builder: HistoryBuilder) -> None:
        self._builder = builder

    def add(self, given: Any, where: str, *, served: bool = False) -> None:
        """Add one item; a bare string is the user's.

        Args:
            given: the item.
            where: its place, for errors.
            served: whether it is half of a call that the server answered itself.
        """
        item = {"role": "user", "content": given} if type(given) is str else require_map(given, where)
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if kind == "item_reference":
            raise invalid_at(where, "refers to an item outside this body; load a request that contains all of it")
        if kind == "message":
            self._add_message(item, where)
        elif served:
            self._builder.extend("assistant", [self._opaque_item(item)])
        elif _is_output(item):
            self._add_output(item, where)
        elif kind in _CLIENT_ITEMS:
            self._builder.add("user", [opaque_block(PROVIDER, item)])
        elif _is_call(item):
            self._builder.extend("assistant", [_call(self._with_id(item, where), where)])
        else:
            self._builder.extend("assistant", [self._opaque_item({"type": kind, **item})])

    def _add_output(self, item: Json, where: str) -> None:
        key = OUTPUT_KINDS[item["type"]].output_id_key
        call_id = self._builder.answered_id(item.get(key), item.get("name"), f"{where}.{key}")
        self._builder.add("tool", [_result({**item, key: call_id}, where)])

    def _with_id(self, item: Json, where: str) -> Json:
        """Return a call with an id; an empty one is replaced by one made from its place."""
        key = CALL_KINDS[item["type"]].call_id_key
        place = "_".join(re.findall(r"\w+", where))
        return {**item, key: self._builder.call_id(item[key], item.get("name"), place, where)}

    def _opaque_item(self, item: Json) -> Json:
        """Return the block of an item of the provider's; only models of one family read what is encrypted (rule X7)."""
        return opaque_block(PROVIDER, item, self._builder.model if "encrypted_content" in item else None)

    def _add_message(self, item: Json, where: str) -> None:
        role = require_role(item.get("role"), f"{where}.role", _API)
        if role == "tool":
            # A result in the form of Chat Completions (rule X12).
            call_id = item.get("tool_call_id") or item.get("call_id") or where
            self.add({"type": "function_call_output", "output": item.get("content"), "call_id": call_id}, where)
            return
        blocks = _blocks(item.get("content"), f"{where}.content") or [text("")]
        if role == "assistant":
            self._add_assistant_text(blocks, item)
            for index, call in enumerate(require_elements(item.get("tool_calls"), f"{where}.tool_calls")):
                self._add_chat_call(call, f"{where}.tool_calls[{index}]")
        else:
            kept_role = {"role": role} if role in INSTRUCTION_ROLES else {}
            values = {**item, "role": None, **kept_role}
            self._builder.add("user", blocks, preserve_keys(PROVIDER, values, ("type", "content", "id", "status")))

    def _add_chat_call(self, call: Any, where: str) -> None:
        """Add a call in the form of Chat Completions (rule X12)."""
        tool = require_map(require_map(call, where).get("function"), f"{where}.function")
        self.add({**tool, "type": "function_call", "call_id": require_str(call.get("id"), f"{where}.id")}, where)

    def _add_assistant_text(self, blocks: list[Json], item: Json) -> None:
        """Add an assistant text; directly after another text, it is a separate message."""
        for block in blocks:
            metadata = {"provider": PROVIDER, **block.get("provider_metadata", {}), "phase": item.get("phase")}
            block.update(preserve_keys(PROVIDER, metadata))
        before = self._builder.messages
        if before and before[-1]["content"][-1]["type"] == "text":
            self._builder.add("assistant", blocks)
        else:
            self._builder.extend("assistant", blocks)


def _is_call(item: Json) -> bool:
    """Whether an item is a call that the client answers; one that the server made and answered is not."""
    kind = CALL_KINDS.get(_type_of(item))
    return kind is not None and type(item.get(kind.call_id_key)) is str and item.get("execution") != "server"


def _is_output(item: Json) -> bool:
    """Whether an item is the client's answer to a call."""
    kind = OUTPUT_KINDS.get(_type_of(item))
    if kind is None or item.get("execution") == "server":
        return False
    call_id = item.get(kind.output_id_key)
    return type(call_id) is str or (call_id is None and item["type"] in _PLAIN_OUTPUTS)


def _type_of(item: Json) -> str:
    kind = item.get("type")
    return kind if type(kind) is str else ""


def _call(item: Json, where: str) -> Json:
    """Read a call; one that has more than a name and arguments is kept whole, for its provider."""
    kind: str = item["type"]
    shape = CALL_KINDS[kind]
    if kind in _PLAIN_CALLS:
        skipped = ("id", "status", "call_id", "name", "arguments", "input")
        kept = preserve_keys(PROVIDER, item, (*skipped, "type") if kind == "function_call" else skipped)
    else:
        kept = preserve_keys(PROVIDER, {"type": kind, "item_json": dump(item)})
    name = item.get("name")
    return {
        "type": "tool_call",
        "id": item[shape.call_id_key],
        "name": name if type(name) is str else kind.removesuffix("_call"),
        "arguments": _arguments(kind, item.get(shape.input_key), f"{where}.{shape.input_key}"),
        **kept,
    }


def _arguments(kind: str, given: Any, where: str) -> str:
    if kind == "custom_tool_call":
        return custom_tool_arguments(require_str(given, where))
    return arguments_of(given)


def _result(item: Json, where: str) -> Json:
    """Read an output; one that is more than a text or parts is kept whole beside its text."""
    kind: str = item["type"]
    call_id = item[OUTPUT_KINDS[kind].output_id_key]
    result = {"type": "tool_result", "tool_call_id": call_id, "is_error": item.get("status") == "failed"}
    output = item.get("output")
    if kind in _PLAIN_OUTPUTS:
        if type(output) is dict and "type" not in output:
            output = dump(output)
        kept = preserve_keys(PROVIDER, item, ("id", "type", "status", "call_id", "output"))
        return {**result, "content": shortest(_blocks(output, f"{where}.output")), **kept}
    readable = [text(output)] if type(output) is str and output else []
    return {**result, "content": [*readable, opaque_block(PROVIDER, item)]}


def _blocks(content: Any, where: str) -> list[Json]:
    """Read the content of a message or an output; a part without a neutral form is kept whole."""
    return blocks_of(
        content, where, lambda part, place: by_type(_PART_READERS, part, place) or opaque_block(PROVIDER, part)
    )


def _text_part(part: Json, where: str) -> Json:
    return {**text(require_str(part.get("text"), f"{where}.text")), **preserve_keys(PROVIDER, part, ("type", "text"))}


def _refusal_part(part: Json, where: str) -> Json:
    said = require_str(part.get("refusal"), f"{where}.refusal")
    return {**text(said), **preserve_keys(PROVIDER, {**part, "refusal": True}, ("type",))}


def _image_part(part: Json, _where: str) -> Json | None:
    url = part.get("image_url")
    return _media(media_from(url, ANY_PICTURE), part, "image_url") if type(url) is str else None


def _file_part(part: Json, _where: str) -> Json | None:
    """Read a file that the part contains or links to; an uploaded one is known only to the provider."""
    data, url, name = part.get("file_data"), part.get("file_url"), part.get("filename")
    if type(data) is str and data.startswith("data:"):
        block = media_from(data, "application/octet-stream")
    elif type(url) is str:
        block = media_from(url, "application/octet-stream")
    else:
        return None
    named = {"name": name} if type(name) is str else {}
    return _media({**block, **named}, part, "file_data", "file_url", "filename")


def _media(block: Json, part: Json, *without: str) -> Json:
    """Add the provider to a media block: OpenAI accepts what came from it, whatever its type (rule R4)."""
    kept = preserve_keys(PROVIDER, part, ("type", *without)).get("provider_metadata")
    return {**block, "provider_metadata": kept or {"provider": PROVIDER}}


_PART_READERS: dict[str, PartReader] = {
    "input_text": _text_part,
    "output_text": _text_part,
    "text": _text_part,
    "refusal": _refusal_part,
    "input_image": _image_part,
    "input_file": _file_part,
}
