"""The keys and types in a body of OpenAI Chat Completions, as in the SDK."""

from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Fault, Json, careless, key_faults, objects, shape_of, shapes

TOP = shape_of(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages! "
    "metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier "
    "stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
MESSAGES = {
    "developer": shape_of("role! content! name"),
    "system": shape_of("role! content! name"),
    "user": shape_of("role! content! name"),
    "assistant": shape_of("role! content name audio function_call refusal tool_calls"),
    "tool": shape_of("role! content! tool_call_id!"),
    "function": shape_of("role! content name!"),
}
PARTS = shapes(
    {
        "text": "text! prompt_cache_breakpoint",
        "image_url": "image_url! prompt_cache_breakpoint",
        "input_audio": "input_audio! prompt_cache_breakpoint",
        "file": "file! prompt_cache_breakpoint",
        "refusal": "refusal!",
        "audio": "audio!",
    }
)
CALLS = shapes({"function": "id! function!", "custom": "id! custom!"})
CALLED = {"function": shape_of("name! arguments!"), "custom": shape_of("name! input!")}
LEFTOVERS = {("assistant", "annotations"), ("tool", "name")}


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body, each of its messages and each of their calls."""
    yield from key_faults("body", body, TOP)
    messages = body.get("messages", [])
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield Fault("messages", "not an array of objects")
    for where, message in objects(messages, "messages"):
        yield from message_faults(where, message)
        for place, call in objects(message.get("tool_calls"), f"{where}.tool_calls"):
            yield from call_faults(place, call)


def message_faults(where: str, message: Json) -> Iterator[Fault]:
    """A message has a known role, that role's keys, and content that is a string or a list of parts."""
    role = message.get("role")
    if not isinstance(role, str) or role not in MESSAGES:
        yield Fault(f"{where}.role", f"{role!r} is no role")
        return
    for fault in key_faults(where, message, MESSAGES[role]):
        key = fault.where.rpartition(".")[2]
        if key != "content" or key in message:  # that one is `null-content`
            yield careless(fault.where, "left over") if (role, key) in LEFTOVERS else fault
    if "refusal" in message and message["refusal"] is None:
        yield careless(f"{where}.refusal", "left over")
    content = message.get("content")
    if not isinstance(content, str | list | None):
        yield Fault(f"{where}.content", "neither a string nor an array of parts")
    if isinstance(content, list):
        yield from parts_faults(f"{where}.content", content)
    if not isinstance(message.get("tool_calls", []), list):
        yield Fault(f"{where}.tool_calls", "not an array")


def parts_faults(where: str, parts: list[Any]) -> Iterator[Fault]:
    """A part is of a known type and has that type's keys."""
    for index, part in enumerate(parts):
        place = f"{where}[{index}]"
        if isinstance(part, str):
            yield careless(place, "a bare string")
        elif not isinstance(part, dict) or str(part.get("type")) not in PARTS:
            yield Fault(place, "no part of a known type")
        else:
            yield from key_faults(place, part, PARTS[part["type"]])
            for key in ("text", "refusal"):
                if not isinstance(part.get(key, ""), str):
                    yield Fault(f"{place}.{key}", "not a string")


def call_faults(where: str, call: Json) -> Iterator[Fault]:
    """A call has a type, an id, a name and a string of arguments."""
    kind = str(call.get("type"))
    if kind not in CALLS:
        yield Fault(f"{where}.type", f"{kind!r} is no type of call")
        return
    for fault in key_faults(where, call, CALLS[kind]):
        yield careless(fault.where, "left over") if fault.where.endswith(".index") else fault
    called = call.get(kind)
    if not isinstance(called, dict):
        yield Fault(f"{where}.{kind}", "not an object")
        return
    yield from key_faults(f"{where}.{kind}", called, CALLED[kind])
    for key in CALLED[kind].required & called.keys():
        if not isinstance(called[key], str):
            yield Fault(f"{where}.{kind}.{key}", "not a string")
