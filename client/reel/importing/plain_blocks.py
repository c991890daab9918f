"""Blocks of texts, calls and results, from what a program wrote of them."""

from typing import Any

from reel.strict_json import Json, encode


def text_block(text: str) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, arguments: Any) -> Json:
    """Return a block that calls a tool; arguments that are not text become JSON."""
    given = arguments if type(arguments) is str else encode({} if arguments is None else arguments)
    return {"type": "tool_call", "id": call_id or "call", "name": name or "unknown", "arguments": given}


def result(call_id: str, blocks: list[Json], *, is_error: bool = False) -> Json:
    """Return the block of a tool's result."""
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    content = blocks[0]["text"] if plain else blocks or ""
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": is_error}
