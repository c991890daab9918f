"""The shape of the messages of the AI SDK: its ``modelMessageSchema``."""

from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Fault, Json, careless, objects, shapes

PARTS = shapes(
    {
        "text": "text! providerOptions",
        "image": "image! mediaType providerOptions",
        "file": "data! mediaType! filename providerOptions",
        "reasoning": "text! providerOptions",
        "reasoning-file": "data! mediaType! providerOptions",
        "custom": "kind! providerOptions",
        "tool-call": "toolCallId! toolName! input! providerExecuted providerOptions",
        "tool-result": "toolCallId! toolName! output! providerOptions",
        "tool-approval-request": "approvalId! toolCallId! isAutomatic signature",
        "tool-approval-response": "approvalId! approved! reason providerExecuted",
    }
)
OUTPUTS = shapes(
    {
        "text": "value! providerOptions",
        "json": "value! providerOptions",
        "error-text": "value! providerOptions",
        "error-json": "value! providerOptions",
        "content": "value! providerOptions",
        "execution-denied": "reason providerOptions",
    }
)
CONTENTS = shapes(
    {
        "text": "text! providerOptions",
        "file": "data! mediaType! filename providerOptions",
        "file-data": "data! mediaType! filename providerOptions",
        "file-url": "url! mediaType providerOptions",
        "file-id": "fileId! providerOptions",
        "file-reference": "providerReference! providerOptions",
        "image-data": "data! mediaType! providerOptions",
        "image-url": "url! providerOptions",
        "image-file-id": "fileId! providerOptions",
        "image-file-reference": "providerReference! providerOptions",
        "custom": "providerOptions",
    }
)
# The parts that a message of a role may have.
ALLOWED = {
    "user": {"text", "image", "file"},
    "assistant": {
        *("text", "custom", "file", "reasoning", "reasoning-file", "tool-call", "tool-result", "tool-approval-request"),
    },
    "tool": {"tool-result", "tool-approval-response"},
}
TEXTS = ("text", "toolCallId", "toolName", "mediaType", "filename", "kind", "url", "reason", "approvalId")


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body and each message."""
    if not isinstance(body.get("system", ""), str):
        yield careless("system", "not a string")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield Fault("messages", "not a list of messages")
    for where, message in objects(messages, "messages"):
        yield from message_faults(where, message)


def message_faults(where: str, message: Json) -> Iterator[Fault]:
    """Check one message; unknown keys are ignored by the AI SDK, and therefore careless."""
    for key in sorted(message.keys() - {"role", "content", "providerOptions"}):
        yield careless(f"{where}.{key}", "unknown key")
    yield from option_faults(where, message)
    role, content = message.get("role"), message.get("content")
    if role == "system" and not isinstance(content, str):
        yield Fault(f"{where}.content", "not a string")
    if role in ("user", "assistant") and isinstance(content, str):
        return
    if isinstance(role, str) and role in ALLOWED:
        if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
            yield Fault(f"{where}.content", "not a list of parts")
        for place, part in objects(content, f"{where}.content"):
            kind = part.get("type")
            if not isinstance(kind, str) or kind not in ALLOWED[role]:
                yield Fault(place, f"{kind!r} in a message of {role!r}")
            else:
                yield from part_faults(place, part, PARTS)


def part_faults(where: str, part: Json, table: dict[str, Any]) -> Iterator[Fault]:
    """Check a part of a message or of an output, or an output."""
    kind = part.get("type")
    shape = table.get(kind) if isinstance(kind, str) else None
    if shape is None:
        yield Fault(where, f"{kind!r} is not a type")
        return
    for key in sorted(part.keys() - shape.allowed):
        yield careless(f"{where}.{key}", "unknown key")
    for key in sorted(shape.required - part.keys()):
        yield Fault(f"{where}.{key}", "required key is missing")
    for key in TEXTS:
        if not isinstance(part.get(key, ""), str):
            yield Fault(f"{where}.{key}", "not a string")
    yield from option_faults(where, part)
    if kind == "tool-result" and "output" in part:
        yield from output_faults(f"{where}.output", part["output"])


def output_faults(where: str, output: Any) -> Iterator[Fault]:
    """Check what a tool returned."""
    if not isinstance(output, dict):
        yield Fault(where, "not an object")
        return
    yield from part_faults(where, output, OUTPUTS)
    value = output.get("value")
    if output.get("type") in ("text", "error-text") and not isinstance(value, str):
        yield Fault(f"{where}.value", "not a string")
    if output.get("type") == "content":
        if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
            yield Fault(f"{where}.value", "not a list of parts")
        for place, part in objects(value, f"{where}.value"):
            yield from part_faults(place, part, CONTENTS)


def option_faults(where: str, holder: Json) -> Iterator[Fault]:
    """Check provider options: a map of maps."""
    options = holder.get("providerOptions", {})
    if not isinstance(options, dict) or not all(isinstance(found, dict) for found in options.values()):
        yield Fault(f"{where}.providerOptions", "not a map of maps")
