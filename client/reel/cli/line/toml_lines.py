"""The line of a key in TOML, for error messages: ``tomllib`` keeps none."""

import tomllib
from collections.abc import Sequence
from typing import Any


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the line on which the value of nested keys begins, from 1; ``None`` if there is no such key.

    It is the first line with which the beginning of the file has the keys. That is quadratic, which a file of settings
    can afford once, and it is right for whatever form they are written in: in a table, dotted, inline.

    Args:
        text: valid TOML.
        path: the keys, from the outermost.
    """
    lines = text.splitlines(keepends=True)
    begins = 1
    for number in range(1, len(lines) + 1):
        try:
            given = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        if _has(given, path):
            return begins
        begins = number + 1
    return None


def _has(given: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(given, dict) or key not in given:
            return False
        given = given[key]
    return True
