"""What exported files say of blocks."""

import json
from typing import Any


def pretty_json(text: str) -> str:
    """Return a JSON text with indentation; what is not JSON, such as the start of a call, stays as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def call_name(result: Any, tools: dict[str, str]) -> str:
    """Return the name of the tool that a result is of, or the id of the call if that is not known."""
    return tools.get(result["tool_call_id"], str(result["tool_call_id"]))


def size_of(block: Any) -> str:
    """Return what a block is that is not shown: its kind and its size."""
    match block["type"]:
        case "media":
            size = len(block.get("data_base64") or "") * 3 // 4
            words = [block.get("name"), block["mime_type"], f"{size:,} bytes"]
        case "opaque":
            words = [f"a block of {block['provider']}", f"{len(block['data_json']):,} characters"]
        case "redacted_thinking":
            words = ["thinking, encrypted by the provider"]
        case _:
            words = [f"a block of type {block['type']}"]
    return ", ".join(word for word in words if word)
