"""Calls and their outputs: what a client must answer is a tool_call, of whatever kind the provider has it."""

import json
from typing import Any, NamedTuple

from reeld.formats import metadata as native
from reeld.formats.content import shortest
from reeld.formats.fields import Json, arguments_of, text_at
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_responses.parts import blocks_of, text


class Kind(NamedTuple):
    """A kind of call that the client answers: the kind of its output, and the keys that matter of each.

    ``asked`` is the key that holds what is asked for, ``named`` the one that both have in common.
    """

    output: str
    asked: str
    named: str = "call_id"
    names: str = "call_id"


KINDS = {
    "function_call": Kind("function_call_output", "arguments"),
    "custom_tool_call": Kind("custom_tool_call_output", "input"),
    "tool_search_call": Kind("tool_search_output", "arguments"),
    "computer_call": Kind("computer_call_output", "action"),
    "shell_call": Kind("shell_call_output", "action"),
    "apply_patch_call": Kind("apply_patch_call_output", "operation"),
    "local_shell_call": Kind("local_shell_call_output", "action", names="id"),
    "mcp_approval_request": Kind("mcp_approval_response", "arguments", "id", "approval_request_id"),
}
OUTPUTS = {kind.output: kind for kind in KINDS.values()}
# The kinds that are neutral but for a few keys; of the others the whole item is kept.
_PLAIN = ("function_call", "custom_tool_call")
_PLAIN_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def is_call(item: Json) -> bool:
    """Tell whether an item is a call that the client answers: one that the server made and answered is none."""
    kind = item.get("type")
    return (
        type(kind) is str
        and kind in KINDS
        and type(item.get(KINDS[kind].named)) is str
        and item.get("execution") != "server"
    )


def is_output(item: Json) -> bool:
    """Tell whether an item is the client's answer to a call."""
    kind = item.get("type")
    return (
        type(kind) is str
        and kind in OUTPUTS
        and type(item.get(OUTPUTS[kind].names)) is str
        and item.get("execution") != "server"
    )


def call_of(item: Json, where: str) -> Json:
    """Read a call; the text that a custom tool is given stands in its arguments as ``input``.

    An item that has more to it than a name and arguments is kept as a whole, for its provider.
    """
    kind: str = item["type"]
    shape = KINDS[kind]
    if kind in _PLAIN:
        skipped = ("id", "status", "call_id", "name", "arguments", "input", *(("type",) if kind in _PLAIN[:1] else ()))
        kept = native.keep(PROVIDER, item, skipped)
    else:
        kept = native.keep(PROVIDER, {"type": kind, "item_json": native.text_of(item)})
    named = item.get("name")
    return {
        "type": "tool_call",
        "id": item[shape.named],
        "name": named if type(named) is str else kind.removesuffix("_call"),
        "arguments": _arguments(kind, item.get(shape.asked), f"{where}.{shape.asked}"),
        **kept,
    }


def _arguments(kind: str, asked: Any, where: str) -> str:
    if kind == "custom_tool_call":
        return json.dumps({"input": text_at(asked, where)}, ensure_ascii=False)
    return arguments_of(asked)


def result_of(item: Json, where: str) -> Json:
    """Read an output; one that is more than a text or parts is kept as a whole beside its text."""
    kind: str = item["type"]
    call_id = item[OUTPUTS[kind].names]
    result = {"type": "tool_result", "tool_call_id": call_id, "is_error": item.get("status") == "failed"}
    output = item.get("output")
    if kind in _PLAIN_OUTPUTS:
        if type(output) is dict and "type" not in output:
            output = native.text_of(output)
        kept = native.keep(PROVIDER, item, ("id", "type", "status", "call_id", "output"))
        return {**result, "content": shortest(blocks_of(output, f"{where}.output")), **kept}
    readable = [text(output)] if type(output) is str and output else []
    return {**result, "content": [*readable, native.opaque(PROVIDER, item)]}
