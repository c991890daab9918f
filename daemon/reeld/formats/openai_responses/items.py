"""The items of Responses: which kinds of calls the client answers, and which items the API accepts back as they are.

Reading and writing share these tables.
"""

import re
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.remembering import remembering
from reel.base.strict_json import Json
from reel.providers.json_values import arguments_as_object, load_sendable
from reel.providers.openai_responses import CALL_KINDS, OUTPUT_KINDS
from reeld.formats.fields import Shape, shapes_of, stripped
from reeld.formats.naming import sent_name


class CallHalf(NamedTuple):
    """One half of a call and its output.

    Args:
        call_id: the id of the call.
        output: the type of the output.
        is_call: whether it is the call.
    """

    call_id: str
    output: str
    is_call: bool

    @property
    def key(self) -> str:
        """What both halves have in common."""
        return f"{self.output} {self.call_id}"


def call_half(item: Json) -> CallHalf | None:
    """Return which half of which call an item is; ``None`` for another item."""
    kind = item.get("type")
    found = CALL_KINDS.get(kind) or OUTPUT_KINDS.get(kind) if type(kind) is str else None
    if found is None:
        return None
    is_call = kind in CALL_KINDS
    call_id = item.get(found.call_id_key if is_call else found.output_id_key)
    return CallHalf(call_id, found.output, is_call) if type(call_id) is str and call_id else None


# The type of an item that stands for everything before it (rule R13).
COMPACTION = "compaction"
# The items of a history by who sends them (rule R6). Answers have more keys than the API accepts back. The id is among
# the keys only if the API requires it: an item without one cannot be missing on the server (rule R3).
SERVER_ITEMS = shapes_of(
    {
        "reasoning": "summary! encrypted_content!",
        COMPACTION: "encrypted_content!",
        "file_search_call": "id! queries! status! results",
        "web_search_call": "id! status! action",
        "code_interpreter_call": "id! container_id! status! code outputs",
        "image_generation_call": "id! result status action background error output_format quality revised_prompt size "
        "svg_usage",
        "mcp_list_tools": "id! server_label! tools! error",
        "mcp_call": "id! arguments! name! server_label! approval_request_id error output status",
        "tool_search_call": "arguments! call_id execution status",
        "tool_search_output": "tools! call_id execution status",
        "additional_tools": "role! tools!",
        "program": "id! call_id! code! fingerprint!",
        "program_output": "id! call_id! result! status!",
        "item_reference": "id!",
        # Both halves of a call that the server answered itself (rule R12).
        "function_call": "arguments! call_id! name! async caller namespace",
        "function_call_output": "call_id! output! caller name namespace",
        "custom_tool_call": "call_id! input! name! async caller namespace",
        "custom_tool_call_output": "call_id! output! caller",
        "computer_call": "id! call_id! pending_safety_checks! status! action actions",
        "computer_call_output": "call_id! output! acknowledged_safety_checks status",
        "shell_call": "action! call_id! caller environment status",
        "shell_call_output": "call_id! output! caller max_output_length status",
        "apply_patch_call": "call_id! operation! status! caller",
        "apply_patch_call_output": "call_id! status! caller output",
        "local_shell_call": "id! action! call_id! status!",
        "local_shell_call_output": "id! output! status",
        "mcp_approval_request": "id! arguments! name! server_label!",
        "mcp_approval_response": "approval_request_id! approve! reason",
    }
)
CLIENT_ITEMS = shapes_of(
    {
        "additional_tools": "role! tools!",
        "configuration_update": "reasoning text",
        "compaction_trigger": "",
        "item_reference": "id!",
    }
)
CALL_ITEMS = shapes_of(
    {
        "tool_search_call": "arguments! call_id! execution status",
        "computer_call": "id! call_id! pending_safety_checks! status! action actions",
        "shell_call": "action! call_id! caller environment status",
        "apply_patch_call": "call_id! operation! status! caller",
        "local_shell_call": "id! action! call_id! status!",
        "mcp_approval_request": "id! arguments! name! server_label!",
    }
)
OUTPUT_ITEMS = shapes_of(
    {
        "tool_search_output": "tools! call_id! execution status",
        "computer_call_output": "call_id! output! acknowledged_safety_checks status",
        "shell_call_output": "call_id! output! caller max_output_length status",
        "apply_patch_call_output": "call_id! status! caller output",
        "local_shell_call_output": "id! output! status",
        "mcp_approval_response": "approval_request_id! approve! reason",
    }
)
_PART_KEYS = {
    "input_image": ("type", "detail", "file_id", "image_url", "prompt_cache_breakpoint"),
    "input_file": ("type", "detail", "file_data", "file_id", "file_url", "filename", "prompt_cache_breakpoint"),
}
# Of an item's list, the keys that its objects may have, if answers have more.
_INNER_KEYS = {"shell_call_output": ("output", ("stdout", "stderr", "outcome"))}
# Calls with a name of a tool of the client's.
_NAMED = ("function_call", "custom_tool_call")
# What the metadata of a whole answer have.
_OF_ANSWERS = ("response_id", "finish_reason")
# The value of a key that is not there.
_NOT_NULL = object()
# Rule R3.
_MAX_CALL_ID = 64
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def from_compaction(items: list[Json]) -> list[Json] | None:
    """Return a turn from its last compaction on, with the calls before it; ``None`` if it has none.

    The compaction comes first, and the outputs of these calls follow (rule R13).
    """
    for index in reversed(range(len(items))):
        if items[index].get("type") == COMPACTION:
            calls = [item for item in items[:index] if "call_id" in item]
            return [items[index], *calls, *items[index + 1 :]]
    return None


def sendable_item(block: Json, shapes: dict[str, Shape]) -> Json | None:
    """Return the item of an opaque block as it is sent; see :func:`strip_item`."""
    return strip_item(_parsed(block["data_json"]), shapes)


def strip_item(item: Json | None, shapes: dict[str, Shape]) -> Json | None:
    """Return an item without the keys that only answers have (rule R6).

    Args:
        item: the item as it was kept.
        shapes: the items that are allowed in its place.

    Returns:
        the item; ``None`` if it is not one of those, or lacks a required key.
    """
    kept = stripped(item, shapes)
    if item is None or kept is None:
        return None
    kind: str = item["type"]
    if (kind == "reasoning" and not _is_valid_reasoning(item)) or (kind in _NAMED and not _is_valid_call(item)):
        return None
    if "id" in shapes[kind].required and (type(item["id"]) is not str or not _ID.fullmatch(item["id"])):
        return None
    call_id = "" if item.get("call_id") is None else item["call_id"]
    if shapes is SERVER_ITEMS and (type(call_id) is not str or len(call_id) > _MAX_CALL_ID):
        return None
    if kind == "additional_tools" and item["role"] != "developer":
        return None
    if kept.get("svg_usage", _NOT_NULL) is None:
        del kept["svg_usage"]  # an answer may have null, a request may not
    key, inner = _INNER_KEYS.get(kind, ("", ()))
    if type(kept.get(key)) is list:
        kept[key] = [{name: part[name] for name in inner if name in part} for part in kept[key] if type(part) is dict]
    return kept


def _is_valid_reasoning(reasoning: Json) -> bool:
    """Whether a reasoning item has encrypted content and a summary of the form that the API accepts (rule R5)."""
    summary, encrypted = reasoning["summary"], reasoning["encrypted_content"]
    return bool(encrypted and type(encrypted) is str and type(summary) is list and all(map(_is_summary, summary)))


def _is_valid_call(call: Json) -> bool:
    """Whether the call of a function or a custom tool has a name and arguments that are accepted (rules X6 and X8)."""
    name, arguments = call["name"], call.get("arguments", "{}")
    if type(name) is not str or sent_name(name) != name or type(call.get("input", "")) is not str:
        return False
    return type(arguments) is str and "INVALID_JSON" not in arguments_as_object(arguments)


def _is_summary(part: Any) -> bool:
    return (
        type(part) is dict and part == {"type": "summary_text", "text": part.get("text")} and type(part["text"]) is str
    )


def content_part(block: Json) -> Json | None:
    """Return the content part of an opaque block; ``None`` if it is not one."""
    part = _parsed(block["data_json"])
    kind = part.get("type") if part else None
    if part is None or type(kind) is not str or kind not in _PART_KEYS:
        return None
    return {key: value for key, value in part.items() if key in _PART_KEYS[kind]}


def is_reasoning(block: Json) -> bool:
    """Whether a block is a reasoning item, which belongs to the item after it (rule R5)."""
    return block["type"] == "opaque" and (_parsed(block["data_json"]) or {}).get("type") == "reasoning"


def is_only_reasoning(message: Json) -> bool:
    """Whether a message is reasoning that was added by itself, and so belongs to the message after it (rule R5).

    A whole answer that is nothing else broke off before what the reasoning led to.
    """
    if any(key in message["provider_metadata"] for key in _OF_ANSWERS):
        return False
    return all(map(is_reasoning, message["content"]))


def reasoning_id(block: Json) -> Json:
    """Return the id of a reasoning item, as a map; an empty one for another item, or without a valid id (rule R10)."""
    found = (_parsed(block["data_json"]) or {}).get("id") if is_reasoning(block) else None
    return {"id": found} if type(found) is str and _ID.fullmatch(found) else {}


def is_output(block: Json) -> bool:
    """Whether a block is the output of a call that the server answered, which the model did not make."""
    item = (_parsed(block["data_json"]) or {}) if block["type"] == "opaque" else {}
    return type(item.get("type")) is str and item["type"] in OUTPUT_KINDS and item["type"] != "tool_search_output"


# Repair and writing ask about one block several times in a row.
@remembering(64)
def _parsed(text: str) -> Json | None:
    value = load_sendable(text)
    return value if type(value) is dict else None
