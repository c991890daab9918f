"""What the two APIs of OpenAI have in common, and those that were made like them."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import as_error
from reeld.formats.json_values import arguments_as_object
from reeld.formats.metadata import is_own
from reeld.formats.model import CallResult, Piece, RenderContext

PROVIDER = "openai"
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
# The key of a content part with a cache breakpoint.
CACHE_BREAKPOINT = "prompt_cache_breakpoint"
_EMPTY: Json = {"type": "text", "text": ""}


def by_message(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Group neighbouring pieces of one message."""
    if len(pieces) == 1:  # nearly always
        yield [*pieces]
        return
    for _, group in groupby(pieces, key=lambda piece: piece.message_index):
        yield list(group)


def with_error_prefix(
    result: CallResult, blocks: list[Json], context: RenderContext, provider: str = PROVIDER
) -> list[Json]:
    """Return a result's blocks; those of a failed one begin with "Error:", for these APIs have no flag (rule C9).

    Args:
        result: the result. A synthesized one says already that it failed, and one that came from the provider never
            had a flag.
        blocks: its blocks.
        context: where the change is reported.
        provider: the provider.
    """
    if not result.failed or result.piece is None or is_own(result.piece.block, provider):
        return blocks
    context.note(result.piece, "downgraded", "this API has no flag for a failed result; its text says so")
    first, rest = (blocks[0], blocks[1:]) if blocks and blocks[0]["type"] == "text" else (_EMPTY, blocks)
    return [{**first, "text": as_error(first["text"])}, *rest]


def filename(block: Json) -> str:
    """Return the name of a file, made up if it has none: these APIs require one and look at its extension."""
    name: str | None = block.get("name")
    return name or ("file.pdf" if block["mime_type"] == "application/pdf" else "file")


def custom_tool_input(arguments: str) -> str:
    """Return the input of a custom tool, which is a text: it is stored in the arguments as ``input``."""
    given: Any = arguments_as_object(arguments).get("input")
    return given if type(given) is str else arguments


def custom_tool_arguments(given: str) -> str:
    """Return the arguments in which :func:`custom_tool_input` finds the input of a custom tool."""
    return json.dumps({"input": given}, ensure_ascii=False)


def rename_tools(extra: Json, rename: Callable[[str], str]) -> Json:
    """Return ``extra`` with the names of tools put through a function, in every key where these APIs have them."""
    renamed = dict(extra)
    for key in ("tools", "functions"):
        if type(extra.get(key)) is list:
            renamed[key] = [_renamed(tool, rename) for tool in extra[key]]
    for key in ("tool_choice", "function_call"):
        if key in extra:
            renamed[key] = _renamed(extra[key], rename)
    return renamed


def _renamed(tool: Any, rename: Callable[[str], str]) -> Any:
    if type(tool) is not dict:
        return tool
    renamed = {
        key: _renamed(value, rename) if key in ("function", "custom", "allowed_tools") else value
        for key, value in tool.items()
    }
    if type(tool.get("tools")) is list:
        renamed["tools"] = [_renamed(inner, rename) for inner in tool["tools"]]
    if type(tool.get("name")) is str:
        renamed["name"] = rename(tool["name"])
    return renamed
