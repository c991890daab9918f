"""Builds neutral blocks for all readers: texts, calls, results, and opaque provider data."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from reel.strict_json import Json, encode


def text_block(text: str) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, arguments: Any) -> Json:
    """Return a block that calls a tool; arguments that are not text become JSON."""
    given = arguments if type(arguments) is str else encode({} if arguments is None else arguments)
    return {"type": "tool_call", "id": call_id or "call", "name": name or "unknown", "arguments": given}


def result_block(call_id: str, blocks: list[Json], *, is_error: bool = False) -> Json:
    """Return the block of a tool's result; a single text becomes the content itself."""
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    content = blocks[0]["text"] if plain else blocks or ""
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": is_error}


def opaque_block(found: Json, provider: str) -> Json:
    """Return the block that keeps a provider's own object unchanged."""
    return {"type": "opaque", "provider": provider, "data_json": encode(found)}


def by_role(blocks: list[Json], role: str) -> Iterator[tuple[str, list[Json]]]:
    """Yield blocks of a user's message in runs of one role: results belong to the role tool."""
    for is_result, run in groupby(blocks, lambda block: block["type"] == "tool_result"):
        yield "tool" if is_result else role, list(run)
