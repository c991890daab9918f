"""Converts items of OpenAI's Responses API to neutral blocks.

The result is the same as that of ``reel load --format openai-responses``, so the items go back to OpenAI unchanged. An
item without a neutral form is kept whole.
"""

import re
from typing import Any, NamedTuple

from reel.importing.blocks import call_block, opaque_block, result_block, text_block
from reel.importing.values import text_in
from reel.strict_json import Json, encode

PROVIDER = "openai"
# Calls, with the key of their arguments; and outputs.
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
}
_PLAIN_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
    "tool_search_output",
)
_PLAIN_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_DATA_URL = re.compile(r"data:([^;,]*);base64,")


class Item(NamedTuple):
    """An item as blocks of a message with this role; ``kept_role`` is the original role, if that differs."""

    role: str
    blocks: list[Json]
    kept_role: str = ""


def read_item(found: Json, model: str = "") -> Item:
    """Convert an item.

    Args:
        found: the item.
        model: the model that generated it; empty if unknown.
    """
    kind = text_in(found, "type") or "message"
    if kind == "message":
        return _message(found)
    call_id = text_in(found, "call_id")
    if kind in _OUTPUTS and call_id and found.get("execution") != "server":
        return Item("tool", [_output(found, kind, call_id)])
    if kind in _CALLS and call_id and found.get("execution") != "server":
        return Item("assistant", [_call(found, kind, call_id)])
    block = opaque_block({"type": kind, **found}, PROVIDER)
    # Only models of the same family can read encrypted content.
    return Item("assistant", [{**block, "model": model} if model and "encrypted_content" in found else block])


def _message(found: Json) -> Item:
    role = text_in(found, "role")
    empty = text_block("") if "content" in found else opaque_block({"type": "message", **found}, PROVIDER)
    blocks = _parts(found.get("content")) or [empty]
    if role == "assistant":
        kept = {"provider_metadata": {"provider": PROVIDER, "phase": found["phase"]}} if text_in(found, "phase") else {}
        return Item("assistant", [{**block, **kept} for block in blocks])
    return Item("user", blocks, role if role not in ("user", "") else "")


def _call(found: Json, kind: str, call_id: str) -> Json:
    given = found.get(_CALLS[kind])
    arguments = {"input": given if type(given) is str else ""} if kind == "custom_tool_call" else given
    metadata: Json = {"provider": PROVIDER}
    if kind == "custom_tool_call":
        metadata["type"] = kind
    elif kind not in _PLAIN_CALLS:
        metadata |= {"type": kind, "item_json": encode(found)}
    name = text_in(found, "name") or kind.removesuffix("_call")
    block = call_block(call_id, name, arguments)
    return {**block, "provider_metadata": metadata} if len(metadata) > 1 else block


def _output(found: Json, kind: str, call_id: str) -> Json:
    output = found.get("output")
    failed = text_in(found, "status") == "failed"
    if type(output) is dict:  # old versions wrote the content and a success flag
        failed = failed or output.get("success") is False
        output = output.get("content_items") or output.get("content") or encode(output)
    blocks = _parts(output)
    if kind not in _PLAIN_OUTPUTS:
        blocks = [*blocks, opaque_block(found, PROVIDER)]
    return result_block(call_id, blocks, is_error=failed)


def _parts(content: Any) -> list[Json]:
    if type(content) is str:
        return [text_block(content)] if content else []
    return [_part(part) for part in content] if type(content) is list else []


def _part(found: Any) -> Json:
    if type(found) is str:
        return text_block(found)
    if type(found) is not dict:
        return opaque_block({"type": "unknown", "value": found}, PROVIDER)
    kind = text_in(found, "type")
    if kind in ("input_text", "output_text", "text") and type(found.get("text")) is str:
        return text_block(found["text"])
    if kind == "refusal" and type(found.get("refusal")) is str:
        metadata = {"provider": PROVIDER, "refusal": True}
        return {**text_block(found["refusal"]), "provider_metadata": metadata}
    if kind == "input_image" and (url := text_in(found, "image_url")):
        return image_block(url)
    return opaque_block(found, PROVIDER)


def image_block(url: str) -> Json:
    """Return the media block of an image at a URL; the bytes of a data URL are put into the block itself."""
    metadata = {"provider": PROVIDER}
    if (match := _DATA_URL.match(url)) is None:
        return {"type": "media", "mime_type": "image/*", "url": url, "provider_metadata": metadata}
    data = url[match.end() :]
    return {"type": "media", "mime_type": match[1] or "image/*", "data_base64": data, "provider_metadata": metadata}
