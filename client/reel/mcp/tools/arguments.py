"""The arguments of a call, as models write them: a number may be a text, and a mistake is told to the model."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from reel.base.values import MAX_INTEGER
from reel.mcp.answers.answer import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET
from reel.mcp.answers.cursors import Cursor, read_cursor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SHOWN = 80
_WORDS = {"true": True, "yes": True, "false": False, "no": False}


class ToolError(Exception):
    """What a model did wrong, or what went wrong, in one sentence that says what to call instead."""


class Arguments:
    """The arguments of one call.

    Args:
        tool: the name of the tool.
        given: what the model wrote.
        known: the names of the tool's parameters.
        kept: the bytes of the answer that something else needs.
    """

    def __init__(self, tool: str, given: Mapping[str, Any], known: Mapping[str, Any], kept: int = 0) -> None:
        self._tool = tool
        self._kept = kept
        self._given = {name: value for name, value in given.items() if value is not None}
        for name in self._given:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                meant = f"; did you mean {close[0]}?" if close else f"; it takes {', '.join(known)}"
                raise ToolError(f"{tool} has no parameter {shown(name)}{meant}")

    def text(self, name: str) -> str:
        """Return a text, empty if it was not given."""
        value = self._given.get(name, "")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value.strip()

    def flag(self, name: str) -> bool:
        """Return a truth value, false if it was not given."""
        value = self._given.get(name, False)
        value = _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def number(self, name: str, least: int, most: int) -> int | None:
        """Return an integer between two others, ``None`` if it was not given; models also write ``#12``."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, str) and re.fullmatch(r"#?\d{1,16}", value.strip(), re.ASCII):
            value = int(value.strip().removeprefix("#"))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._wrong(name, f"a number from {least:,} to {most:,}")
        return value

    @property
    def seq(self) -> int | None:
        """The number of a message."""
        return self.number("seq", 1, MAX_INTEGER)

    @property
    def budget(self) -> int:
        """The bytes that the tool's part of the answer may have."""
        return (self.number("budget", MIN_BUDGET, MAX_BUDGET) or DEFAULT_BUDGET) - self._kept

    @property
    def cursor(self) -> Cursor | None:
        """The place to read on from, in a conversation."""
        text = self.text("cursor")
        cursor = read_cursor(text) if text else None
        if text and cursor is None:
            raise ToolError(no_cursor(self._tool, text, "the newest"))
        return cursor

    def _wrong(self, name: str, expected: str) -> ToolError:
        return ToolError(f"{name} of {self._tool} is {expected}, not {shown(self._given[name])}: call it with one")


def shown(value: Any) -> str:
    """Return a value as an error shows it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def no_cursor(tool: str, cursor: str, begin: str) -> str:
    """Return the words for a cursor from which nothing can be read."""
    return (
        f"{shown(cursor)} is no cursor of {tool}: pass one on as an answer of it says, or leave it out to begin with"
        f" {begin}"
    )
