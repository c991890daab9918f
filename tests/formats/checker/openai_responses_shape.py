"""The keys and types in a body of OpenAI Responses, as in the SDK."""

from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Fault, Json, Shape, careless, key_faults, shape_of, shapes

TOP = shape_of(
    "access_programs background background_options context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
)
MESSAGE = shape_of("role! content! type id status phase")
# What a client makes or answers itself, and so must have right.
OWN = shapes(
    {
        "function_call": "arguments! call_id! name! id caller namespace status async",
        "function_call_output": "call_id! output! id caller name namespace status",
        "custom_tool_call": "call_id! input! name! id caller namespace async",
        "custom_tool_call_output": "call_id! output! id caller",
        "reasoning": "summary! id content encrypted_content status",
        "item_reference": "id!",
    }
)
# What only a server makes: a key too many is tolerated here, for the SDK's types of answers have more than its inputs.
SERVED = shapes(
    {
        "file_search_call": "id! queries! status! results",
        "computer_call": "id! call_id! pending_safety_checks! status! action actions",
        "computer_call_output": "call_id! output! id acknowledged_safety_checks status",
        "web_search_call": "id! status! action",
        "tool_search_call": "arguments! id call_id execution status",
        "tool_search_output": "tools! id call_id execution status",
        "additional_tools": "role! tools! id",
        "configuration_update": "id reasoning text",
        "compaction": "encrypted_content! id",
        "compaction_trigger": "id",
        "image_generation_call": "id! result status action background error output_format quality revised_prompt size "
        "svg_usage",
        "code_interpreter_call": "id! container_id! status! code outputs",
        "local_shell_call": "id! action! call_id! status!",
        "local_shell_call_output": "id! output! status",
        "shell_call": "action! call_id! id caller environment status",
        "shell_call_output": "call_id! output! id caller max_output_length status",
        "apply_patch_call": "call_id! operation! status! id caller",
        "apply_patch_call_output": "call_id! status! id caller output",
        "mcp_list_tools": "id! server_label! tools! error",
        "mcp_approval_request": "id! arguments! name! server_label!",
        "mcp_approval_response": "approval_request_id! approve! id reason",
        "mcp_call": "id! arguments! name! server_label! approval_request_id error output status",
        "program": "id! call_id! code! fingerprint!",
        "program_output": "id! call_id! result! status!",
    }
)
PARTS = shapes(
    {
        "input_text": "text! prompt_cache_breakpoint",
        "input_image": "detail file_id image_url prompt_cache_breakpoint",
        "input_file": "detail file_data file_id file_url filename prompt_cache_breakpoint",
        "output_text": "text! annotations logprobs",
        "refusal": "refusal!",
    }
)
ROLES = ("user", "assistant", "system", "developer")
STRINGS = ("arguments", "input", "name", "call_id")


def kind_of(item: Json) -> str:
    """Return the type of an item; a message may leave it out."""
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body and at each of its items."""
    yield from key_faults("body", body, TOP)
    given = body.get("input")
    if not isinstance(given, str | list | None):
        yield Fault("input", "neither a string nor an array of items")
    for index, item in enumerate(given if isinstance(given, list) else []):
        where = f"input[{index}]"
        if isinstance(item, dict):
            yield from item_faults(where, item)
        else:
            yield Fault(where, "not an object")


def item_faults(where: str, item: Json) -> Iterator[Fault]:
    """Check one item by its type."""
    kind = kind_of(item)
    if kind == "message":
        yield from message_faults(where, item)
    elif kind in OWN:
        yield from own_faults(where, kind, item)
    elif kind in SERVED:
        for fault in key_faults(where, item, SERVED[kind]):
            yield careless(*fault[:2])
    else:
        yield Fault(f"{where}.type", f"{kind!r} is no type of item")


def message_faults(where: str, item: Json) -> Iterator[Fault]:
    """Check a message: its keys, its content, its parts."""
    yield from key_faults(where, item, MESSAGE)
    content = item.get("content", "")
    if isinstance(content, list):
        yield from parts_faults(f"{where}.content", content, PARTS)
    elif not isinstance(content, str):
        yield Fault(f"{where}.content", "neither a string nor an array of parts")


def own_faults(where: str, kind: str, item: Json) -> Iterator[Fault]:
    """Check a call, an output or a reasoning item."""
    for fault in key_faults(where, item, OWN[kind]):
        left_over = kind.startswith("custom_") and fault.where.endswith(".status")
        yield careless(fault.where, "left over") if left_over else fault
    for key in STRINGS:
        if key in OWN[kind].required and not isinstance(item.get(key, ""), str):
            yield Fault(f"{where}.{key}", "not a string")
    output = item.get("output", "")
    if isinstance(output, list):
        inputs = {name: shape for name, shape in PARTS.items() if name.startswith("input_")}
        yield from parts_faults(f"{where}.output", output, inputs)
    elif not isinstance(output, str):
        yield Fault(f"{where}.output", "neither a string nor an array of parts")
    if kind == "reasoning":
        yield from summary_faults(f"{where}.summary", item.get("summary", []))


def summary_faults(where: str, summary: Any) -> Iterator[Fault]:
    """Check the summary of a reasoning item."""
    if not isinstance(summary, list):
        yield Fault(where, "not an array")
        return
    for index, part in enumerate(summary):
        if not isinstance(part, dict) or part.get("type") != "summary_text" or not isinstance(part.get("text"), str):
            yield Fault(f"{where}[{index}]", "not a summary_text")


def parts_faults(where: str, parts: list[Any], known: dict[str, Shape]) -> Iterator[Fault]:
    """Check content parts; the type of a message's part is what `part-role` judges as well."""
    for index, part in enumerate(parts):
        place = f"{where}[{index}]"
        if not isinstance(part, dict) or str(part.get("type")) not in known:
            yield Fault(place, "no part of a known type")
            continue
        yield from key_faults(place, part, known[part["type"]])
        for key in ("text", "refusal"):
            if not isinstance(part.get(key, ""), str):
                yield Fault(f"{place}.{key}", "not a string")
