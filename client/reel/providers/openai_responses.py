"""Reads the items of Responses."""

import re
from functools import partial
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.blocks import PartReader, blocks_of, by_type, own_media, text, text_part, tool_call, tool_result
from reel.providers.content import ANY_PICTURE, media_from, shortest
from reel.providers.elements import Element, invalid_at, require_map
from reel.providers.json_values import dump
from reel.providers.message_builder import MessageBuilder
from reel.providers.metadata import opaque_block, preserve_keys
from reel.providers.openai import PROVIDER, custom_tool_arguments
from reel.providers.refusals import Refusals
from reel.providers.roles import INSTRUCTION_ROLES

_API = "Responses"
# Client items that are neither messages nor outputs.
_CLIENT_ITEMS = ("additional_tools", "configuration_update", "compaction_trigger")
# The kinds of calls and outputs with a neutral form but for a few keys; the others are kept whole.
_PLAIN_CALLS = ("function_call", "custom_tool_call")
_PLAIN_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class CallKind(NamedTuple):
    """A kind of call that the client answers, and of its output (rule R2).

    Args:
        output: the type of its output.
        input_key: the key of what the call asks for.
        call_id_key: the key of the call's id in the call.
        output_id_key: the key of the call's id in its output.
    """

    output: str
    input_key: str
    call_id_key: str = "call_id"
    output_id_key: str = "call_id"


CALL_KINDS = {
    "function_call": CallKind("function_call_output", "arguments"),
    "custom_tool_call": CallKind("custom_tool_call_output", "input"),
    "tool_search_call": CallKind("tool_search_output", "arguments"),
    "computer_call": CallKind("computer_call_output", "action"),
    "shell_call": CallKind("shell_call_output", "action"),
    "apply_patch_call": CallKind("apply_patch_call_output", "operation"),
    "local_shell_call": CallKind("local_shell_call_output", "action", output_id_key="id"),
    "mcp_approval_request": CallKind("mcp_approval_response", "arguments", "id", "approval_request_id"),
}
OUTPUT_KINDS = {kind.output: kind for kind in CALL_KINDS.values()}


class ItemReader:
    """Reads items in order, and adds their messages to a builder.

    Args:
        builder: the builder.
        refusals: what keeps a part of an item that is refused; ``None`` if that is an error.
    """

    def __init__(self, builder: MessageBuilder, refusals: Refusals | None = None) -> None:
        self._builder = builder
        self._refusals = refusals

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
            self._add_message(Element(item, where, self._refusals))
        elif served:
            self._builder.extend("assistant", [self._opaque_item(item)])
        elif _is_output(item):
            self._builder.add("tool", [self._result(Element(item, where, self._refusals))])
        elif kind in _CLIENT_ITEMS:
            self._builder.add("user", [opaque_block(PROVIDER, item)])
        elif _is_call(item):
            self._builder.extend("assistant", [self._call(Element(item, where, self._refusals))])
        else:
            self._builder.extend("assistant", [self._opaque_item({"type": kind, **item})])

    def _call(self, item: Element) -> Json:
        """Read a call; one that has more than a name and arguments is kept whole, for its provider."""
        kind: str = item.value["type"]
        shape = CALL_KINDS[kind]
        # An empty id is replaced by one made from the place.
        given = item.value[shape.call_id_key]
        place = "" if given else "_".join(re.findall(r"\w+", item.where))
        call_id = self._builder.call_id(given, item.get("name"), place, item.where)
        if kind in _PLAIN_CALLS:
            skipped = ("id", "status", "call_id", "name", "arguments", "input")
            kept = item.kept(PROVIDER, *skipped, *(("type",) if kind == "function_call" else ()))
        else:
            whole = dump({**item.value, shape.call_id_key: call_id})
            kept = preserve_keys(PROVIDER, {"type": kind, "item_json": whole})
        custom = kind == "custom_tool_call"
        arguments = custom_tool_arguments(item.text("input")) if custom else item.get(shape.input_key)
        name = item.get("name")
        return tool_call(call_id, name if type(name) is str else kind.removesuffix("_call"), arguments, kept)

    def _result(self, item: Element) -> Json:
        """Read an output; one that is more than a text or parts is kept whole beside its text."""
        kind: str = item.value["type"]
        key = OUTPUT_KINDS[kind].output_id_key
        call_id = self._builder.answered_id(item.get(key), item.get("name"), item.at(key))
        output, failed = item.get("output"), item.get("status") == "failed"
        if kind in _PLAIN_OUTPUTS:
            if type(output) is dict and "type" not in output:
                output = dump(output)
            kept = item.kept(PROVIDER, "id", "type", "status", "call_id", "output")
            return tool_result(
                call_id, shortest(_blocks(output, item.at("output"), item.refusals)), kept, failed=failed
            )
        readable = [text(output)] if type(output) is str and output else []
        whole = opaque_block(PROVIDER, {**item.value, key: call_id})
        return tool_result(call_id, [*readable, whole], failed=failed)

    def _opaque_item(self, item: Json) -> Json:
        """Return the block of an item of the provider's; only models of one family read what is encrypted (rule X7)."""
        return opaque_block(PROVIDER, item, self._builder.model if "encrypted_content" in item else None)

    def _add_message(self, item: Element) -> None:
        role = item.role(_API)
        if role == "tool":
            # A result in the form of Chat Completions (rule X12).
            call_id = item.get("tool_call_id") or item.get("call_id") or item.where
            output = {"type": "function_call_output", "output": item.get("content"), "call_id": call_id}
            self.add(output, item.where)
            return
        blocks = _blocks(item.get("content"), item.at("content"), item.refusals) or [text("")]
        if role == "assistant":
            self._add_assistant_text(blocks, item.get("phase"))
            for call in item.elements("tool_calls") if item.get("tool_calls") is not None else ():
                # In the form of Chat Completions (rule X12).
                tool = call.inside("function").value
                self.add({**tool, "type": "function_call", "call_id": call.text("id")}, call.where)
        else:
            values = {**item.value, "role": role if role in INSTRUCTION_ROLES else None}
            self._builder.add("user", blocks, preserve_keys(PROVIDER, values, ("type", "content", "id", "status")))

    def _add_assistant_text(self, blocks: list[Json], phase: Any) -> None:
        """Add an assistant text; directly after another text, it is a separate message."""
        for block in blocks:
            metadata = {"provider": PROVIDER, **block.get("provider_metadata", {}), "phase": phase}
            block.update(preserve_keys(PROVIDER, metadata))
        before = self._builder.messages
        if before and before[-1]["content"][-1]["type"] == "text":
            self._builder.add("assistant", blocks)
        else:
            self._builder.extend("assistant", blocks)


def _is_call(item: Json) -> bool:
    """Whether an item is a call that the client answers; one that the server made and answered is not."""
    kind = CALL_KINDS.get(type_of(item))
    return kind is not None and type(item.get(kind.call_id_key)) is str and item.get("execution") != "server"


def _is_output(item: Json) -> bool:
    """Whether an item is the client's answer to a call."""
    kind = OUTPUT_KINDS.get(type_of(item))
    if kind is None or item.get("execution") == "server":
        return False
    call_id = item.get(kind.output_id_key)
    return type(call_id) is str or (call_id is None and item["type"] in _PLAIN_OUTPUTS)


def type_of(item: Json) -> str:
    """Return the type of an item; empty if it has none."""
    kind = item.get("type")
    return kind if type(kind) is str else ""


def _blocks(content: Any, where: str, refusals: Refusals | None) -> list[Json]:
    """Read the content of a message or an output."""
    return blocks_of(content, where, partial(by_type, _PART_READERS, PROVIDER), refusals)


def _refusal(part: Element) -> Json:
    return {**text(part.text("refusal")), **preserve_keys(PROVIDER, {**part.value, "refusal": True}, ("type",))}


def _image(part: Element) -> Json | None:
    url = part.get("image_url")
    return own_media(PROVIDER, media_from(url, ANY_PICTURE), part, "image_url") if type(url) is str else None


def _file(part: Element) -> Json | None:
    """Read a file that the part contains or links to; an uploaded one is known only to the provider."""
    data, url, name = part.get("file_data"), part.get("file_url"), part.get("filename")
    source = data if type(data) is str and data.startswith("data:") else url
    if type(source) is not str:
        return None
    named = {"name": name} if type(name) is str else {}
    block = {**media_from(source, "application/octet-stream"), **named}
    return own_media(PROVIDER, block, part, "file_data", "file_url", "filename")


_PART_READERS: dict[str, PartReader] = {
    **dict.fromkeys(("input_text", "output_text", "text"), partial(text_part, PROVIDER)),
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
}
