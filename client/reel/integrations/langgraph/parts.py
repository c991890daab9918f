"""Texts that are too long for one record: they are records of their own, in parts, and their record names these.

A part ends after a space, if there is one near: so few words of a text are in two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

# The most characters of a part: even if JSON takes twelve bytes for each, it fits into a request.
_PART: Final = 1 << 20
# How far from the end of a part a space is looked for.
_NEAR: Final = 1 << 16

# Adds the parts of a text, and returns the seqs of their records.
AddParts = Callable[[str], list[int]]


def pieces(text: str) -> Iterator[str]:
    """Yield the parts of a text."""
    begin = 0
    while begin < len(text):
        end = begin + _PART
        if end < len(text):
            end = text.rfind(" ", max(begin, end - _NEAR), end) + 1 or end
        yield text[begin:end]
        begin = end


def in_parts(data: Mapping[str, Any], room: int, add: AddParts) -> dict[str, Any]:
    """Return the content of a record of which the longest texts are parts, so that there is room for the rest.

    Args:
        data: the content: of a checkpoint, or of the writes of a task.
        room: how many characters it may have.
        add: adds the parts.
    """
    made = {**data, **{name: dict(data[name]) for name in ("values", "messages") if name in data}}
    if "writes" in data:
        made["writes"] = [[*row] for row in data["writes"]]
    texts = sorted(_texts(made), key=lambda each: len(each[0]), reverse=True)
    rest = sum(len(text) for text, _ in texts)
    for text, move in texts:
        if rest <= room:
            break
        move(add(text))
        rest -= len(text)
    return made


def parts_of(data: Mapping[str, Any]) -> Iterator[int]:
    """Yield the seqs of the parts that a checkpoint names, or the writes of a task."""
    for seqs in data.get("parts", {}).values():
        yield from seqs
    if "put" in data and "messages" in data:
        yield from data["messages"].get("parts", ())


def _texts(made: dict[str, Any]) -> Iterator[tuple[str, Callable[[Sequence[int]], None]]]:
    """Yield the texts of a record that can be parts, each with what puts their seqs in its place."""

    def value(channel: str) -> Callable[[Sequence[int]], None]:
        def move(seqs: Sequence[int]) -> None:
            del made["values"][channel]
            made.setdefault("parts", {})[channel] = seqs

        return move

    def written(row: list[Any]) -> Callable[[Sequence[int]], None]:
        def move(seqs: Sequence[int]) -> None:
            row[2] = ""
            made.setdefault("parts", {})[str(row[0])] = seqs

        return move

    def nested(seqs: Sequence[int]) -> None:
        del made["messages"]["more"]
        made["messages"]["parts"] = seqs

    for channel, text in made.get("values", {}).items():
        yield text, value(channel)
    for row in made.get("writes", ()):
        yield row[2], written(row)
    if "more" in made.get("messages", {}):
        yield made["messages"]["more"], nested
