"""Code between fences in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from reel.base.light_typing import NamedTuple

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")


class Part(Enum):
    """What a line of a text is."""

    TEXT = "text"
    OPENING = "opening"
    CODE = "code"
    CLOSING = "closing"


class Code(NamedTuple):
    """The code between two fences, and its language as the first fence names it, or an empty text."""

    text: str
    language: str


def parts(text: str) -> Iterator[tuple[Part, str]]:
    """Yield the lines of a text, and what each is; the last fence may be open."""
    closing: re.Pattern[str] | None = None
    for line in text.replace("\r\n", "\n").split("\n"):
        if closing is not None:
            ends = closing.fullmatch(line) is not None
            yield Part.CLOSING if ends else Part.CODE, line
            closing = None if ends else closing
        elif opened := _FENCE.match(line):
            closing = re.compile(rf"\s*{opened[1][0]}{{{len(opened[1])},}}\s*")
            yield Part.OPENING, line
        else:
            yield Part.TEXT, line


def code_blocks(text: str) -> list[Code]:
    """Return the code in each pair of fences of a text."""
    blocks: list[tuple[str, list[str]]] = []
    for part, line in parts(text):
        if part is Part.OPENING:
            blocks.append((next(iter(line.strip().lstrip("`~").split()), ""), []))
        elif part is Part.CODE:
            blocks[-1][1].append(line)
    return [Code("\n".join(lines), language) for language, lines in blocks]
