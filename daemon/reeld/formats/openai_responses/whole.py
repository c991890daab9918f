"""The items that the API takes back whole: which keys they have, and who may send them."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from reeld.formats import metadata as native
from reeld.formats.fields import Json

# By the type of an item its keys; those that it must have end in "!". Answers have more of some than the API takes
# back. The id stands only where the API asks for it: whatever is sent without one cannot be missed by the server.
_SERVERS = {
    "reasoning": "summary! encrypted_content!",
    "compaction": "encrypted_content!",
    "file_search_call": "id! queries! status! results",
    "web_search_call": "id! status! action",
    "code_interpreter_call": "id! container_id! status! code outputs",
    "image_generation_call": "id! result status action background output_format quality revised_prompt size",
    "mcp_list_tools": "id! server_label! tools! error",
    "mcp_call": "id! arguments! name! server_label! approval_request_id error output status",
    "tool_search_call": "arguments! call_id execution status",
    "tool_search_output": "tools! call_id execution status",
    "program": "id! call_id! code! fingerprint!",
    "program_output": "id! call_id! result! status!",
    "item_reference": "id!",
}
_CLIENTS = {
    "additional_tools": "role! tools!",
    "configuration_update": "reasoning text",
    "compaction_trigger": "",
    "item_reference": "id!",
}
_CALLS = {
    "tool_search_call": "arguments! call_id! execution status",
    "computer_call": "id! call_id! pending_safety_checks! status! action actions",
    "shell_call": "action! call_id! caller environment status",
    "apply_patch_call": "call_id! operation! status! caller",
    "local_shell_call": "id! action! call_id! status!",
    "mcp_approval_request": "id! arguments! name! server_label!",
}
_RESULTS = {
    "tool_search_output": "tools! call_id! execution status",
    "computer_call_output": "call_id! output! acknowledged_safety_checks status",
    "shell_call_output": "call_id! output! caller max_output_length status",
    "apply_patch_call_output": "call_id! status! caller output",
    "local_shell_call_output": "id! output! status",
    "mcp_approval_response": "approval_request_id! approve! reason",
}
_LONGEST = 64
_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _Shape(NamedTuple):
    """The keys that an item may have, and those that it must have."""

    allowed: frozenset[str]
    required: frozenset[str]


def _shapes(table: dict[str, str]) -> dict[str, _Shape]:
    return {
        kind: _Shape(
            frozenset(["type", *(key.rstrip("!") for key in keys.split())]),
            frozenset(key.rstrip("!") for key in keys.split() if key.endswith("!")),
        )
        for kind, keys in table.items()
    }


_PARTS = {
    "input_image": ("type", "detail", "file_id", "image_url", "prompt_cache_breakpoint"),
    "input_file": ("type", "detail", "file_data", "file_id", "file_url", "filename", "prompt_cache_breakpoint"),
}
SERVERS, CLIENTS, CALLS, RESULTS = map(_shapes, (_SERVERS, _CLIENTS, _CALLS, _RESULTS))


def whole(item: Json | None, shapes: dict[str, _Shape]) -> Json | None:
    """Give an item as it is sent: less what only answers have.

    Args:
        item: what was kept of it.
        shapes: the items that may stand in its place.

    Returns:
        the item; ``None`` where it is none of those, or lacks what it must have.
    """
    kind = item.get("type") if item else None
    shape = shapes.get(kind) if type(kind) is str else None
    if item is None or shape is None or any(item.get(key) is None for key in shape.required):
        return None
    if kind == "reasoning" and not _is_readable(item):
        return None
    if "id" in shape.required and (type(item["id"]) is not str or not _PLAIN.fullmatch(item["id"])):
        return None
    call_id = item.get("call_id") or ""
    if shapes is SERVERS and (type(call_id) is not str or len(call_id) > _LONGEST):
        return None
    return {key: value for key, value in item.items() if key in shape.allowed}


def _is_readable(reasoning: Json) -> bool:
    """Tell whether reasoning has what only the server reads, and a summary that anybody can."""
    summary, encrypted = reasoning["summary"], reasoning["encrypted_content"]
    return bool(encrypted and type(encrypted) is str and type(summary) is list and all(map(_is_summary, summary)))


def _is_summary(part: Any) -> bool:
    return (
        type(part) is dict and part == {"type": "summary_text", "text": part.get("text")} and type(part["text"]) is str
    )


def held(block: Json, shapes: dict[str, _Shape]) -> Json | None:
    """Give the item that an opaque block holds, as it is sent; see :func:`whole`."""
    return whole(_parsed(block["data_json"]), shapes)


def part_in(block: Json) -> Json | None:
    """Give the content part that an opaque block holds; ``None`` where it holds none."""
    part = _parsed(block["data_json"])
    kind = part.get("type") if part else None
    if part is None or type(kind) is not str or kind not in _PARTS:
        return None
    return {key: value for key, value in part.items() if key in _PARTS[kind]}


def is_reasoning(block: Json) -> bool:
    """Tell whether a block is the reasoning that led to the one after it."""
    return block["type"] == "opaque" and (_parsed(block["data_json"]) or {}).get("type") == "reasoning"


@lru_cache(maxsize=64)
def _parsed(text: str) -> Json | None:
    """Read what an opaque block holds: it is asked about several times in a row."""
    value = native.readable(text)
    return value if type(value) is dict else None
