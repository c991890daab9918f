"""The capabilities and requirements of the AI SDK."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import mime_of
from reel.providers.metadata import opaque_object, restore_key
from reeld.formats.ai_sdk.options import PROVIDER, are_options
from reeld.formats.fields import shapes_of, stripped
from reeld.formats.format import Position, ServerToolHalf

_CALL, _RESULT = "tool-call", "tool-result"
# The parts that go back unchanged: their keys by position; a required key ends in "!".
_OWN = {
    place: shapes_of(kinds)
    for place, kinds in {
        "assistant": {
            _CALL: "toolCallId! toolName! input! providerExecuted! providerOptions",
            _RESULT: "toolCallId! toolName! output! providerOptions",
            "custom": "kind! providerOptions",
            "reasoning-file": "data! mediaType! providerOptions",
            "file": "data! mediaType! filename providerOptions",
        },
        "user": {"file": "data! mediaType! filename providerOptions", "image": "image! mediaType providerOptions"},
        "result": {
            "file": "data! mediaType! filename providerOptions",
            "file-id": "fileId! providerOptions",
            "file-reference": "providerReference! providerOptions",
            "image-file-id": "fileId! providerOptions",
            "image-file-reference": "providerReference! providerOptions",
            "custom": "providerOptions",
        },
    }.items()
}
_TEXTS = ("toolCallId", "toolName", "kind", "mediaType")
_OUTPUTS = ("text", "json", "error-text", "error-json", "content", "execution-denied")


def why_unsendable(block: Json, position: Position, _model: str | None) -> str | None:
    """Return why a block has no form in the AI SDK, whatever the final provider (rule V4)."""
    kind = block["type"]
    if kind == "thinking":
        return None if block["text"].strip() or block.get("signature") else "an empty thought"
    if kind == "redacted_thinking":
        known = block.get("provider") in ("anthropic", "bedrock")
        return None if known else "redacted thinking of a provider that the AI SDK has no name for"
    if kind == "media":
        return None if "/" in mime_of(block) else f"media of type {mime_of(block)}"
    if own_part(block, position) is not None or (position == "assistant" and reasoning_item(block) is not None):
        return None
    return "an opaque block that the AI SDK has no form for"


def own_part(block: Json, position: Position) -> Json | None:
    """Return the AI SDK part of an opaque block, in the form to send in a position; ``None`` if it is not one."""
    part = opaque_object(block) if block.get("provider") == PROVIDER else None
    kept = stripped(part, _OWN["result" if position == "failed_result" else position])
    if kept is None:
        return None
    kept = {key: value for key, value in kept.items() if value is not None}
    return kept if _is_valid(kept) else None


def _is_valid(part: Json) -> bool:
    """Whether the values of a part have the types that the AI SDK requires."""
    output = part.get("output", {"type": "text", "value": ""})
    return (
        all(type(part.get(key, "x")) is str and part.get(key, "x") for key in _TEXTS)
        and are_options(part.get("providerOptions", {}))
        and part.get("providerExecuted", True) is True
        and type(output) is dict
        and output.get("type") in _OUTPUTS
        and are_options(output.get("providerOptions", {}))
        and _is_value(output)
    )


def _is_value(output: Json) -> bool:
    value = output.get("value")
    if output["type"] in ("text", "error-text"):
        return type(value) is str
    if output["type"] == "content":
        return type(value) is list and all(map(_is_text, value))
    return "value" in output or output["type"] == "execution-denied"


def _is_text(part: Any) -> bool:
    return type(part) is dict and part.keys() == {"type", "text"} and type(part["text"]) is str


def reasoning_item(block: Json) -> Json | None:
    """Return the OpenAI reasoning item of an opaque block; ``None`` if it is not one, or is empty."""
    item = opaque_object(block) if block["type"] == "opaque" and block.get("provider") == "openai" else None
    if item is None or item.get("type") != "reasoning":
        return None
    encrypted = item.get("encrypted_content")
    return item if reasoning_parts(block) or (type(encrypted) is str and encrypted) else None


def reasoning_parts(block: Json) -> list[Json]:
    """Return the parts that a reasoning item was loaded from; none if it was not, or if they are not reasoning."""
    parts = restore_key(block.get("provider_metadata"), "openai", "parts")
    return parts if type(parts) is list and all(map(_is_reasoning, parts)) else []


def _is_reasoning(part: Any) -> bool:
    keys = {"type", "text", "providerOptions"}
    if type(part) is not dict or part.get("type") != "reasoning" or not part.keys() <= keys:
        return False
    return type(part.get("text")) is str and are_options(part.get("providerOptions"))


def must_precede_content(block: Json) -> bool:
    """Whether a block is reasoning, which cannot form a turn alone."""
    return block["type"] in ("thinking", "redacted_thinking") or reasoning_item(block) is not None


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a call that the provider answered itself a block is (rule X9)."""
    part = own_part(block, "assistant") or {}
    if part.get("type") not in (_CALL, _RESULT):
        return None
    return ServerToolHalf(part["toolCallId"], is_call=part["type"] == _CALL)


def unique_ids(block: Json) -> tuple[str, ...]:
    """Return the id of a call that the provider answered itself."""
    half = server_tool_half(block)
    return (half.key,) if half is not None and half.is_call else ()
