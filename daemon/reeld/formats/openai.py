"""What both of OpenAI's APIs have in common."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from reeld.formats.arguments import as_object
from reeld.formats.content import as_error
from reeld.formats.format import Page
from reeld.formats.model import Answer, Json, Piece

PROVIDER = "openai"
_NOTHING: Json = {"type": "text", "text": ""}
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def by_message(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Put neighbouring pieces of one message together."""
    for _, group in groupby(pieces, key=lambda piece: id(piece.message)):
        yield list(group)


def admitting(answer: Answer, blocks: list[Json], page: Page) -> list[Json]:
    """Give what a result says; one that failed begins with a word that says so, for these APIs have no other sign.

    Args:
        answer: the result; one that was made up says it, and one that came from here never had a sign.
        blocks: what it says.
        page: what it is written with.
    """
    if not answer.failed or answer.piece is None or answer.metadata.get("provider") == PROVIDER:
        return blocks
    page.note(answer.piece, "downgraded", "that a result failed can only be said in its text")
    first, rest = (blocks[0], blocks[1:]) if blocks and blocks[0]["type"] == "text" else (_NOTHING, blocks)
    return [{**first, "text": as_error(first["text"])}, *rest]


def filename(block: Json) -> str:
    """Give the name of a file: these APIs want one, and look at how it ends."""
    name: str | None = block.get("name")
    return name or ("file.pdf" if block["mime_type"] == "application/pdf" else "file")


def input_of(arguments: str) -> str:
    """Give the text that a custom tool is called with: it stands in the arguments as ``input``."""
    given: Any = as_object(arguments).get("input")
    return given if type(given) is str else arguments


def rename(extra: Json, rename: Callable[[str], str]) -> Json:
    """Put the names of tools through a function, wherever these APIs have them."""
    renamed = dict(extra)
    for key in ("tools", "functions"):
        if type(extra.get(key)) is list:
            renamed[key] = [_named(tool, rename) for tool in extra[key]]
    for key in ("tool_choice", "function_call"):
        if key in extra:
            renamed[key] = _named(extra[key], rename)
    return renamed


def _named(tool: Any, rename: Callable[[str], str]) -> Any:
    if type(tool) is not dict:
        return tool
    renamed = {
        key: _named(value, rename) if key in ("function", "custom", "allowed_tools") else value
        for key, value in tool.items()
    }
    if type(tool.get("tools")) is list:
        renamed["tools"] = [_named(inner, rename) for inner in tool["tools"]]
    if type(tool.get("name")) is str:
        renamed["name"] = rename(tool["name"])
    return renamed
