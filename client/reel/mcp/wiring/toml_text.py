"""Changes one table in a text of TOML, and leaves every other character as it is. Pure.

The standard library reads TOML and does not write it. A table that is added at the end is a few lines, and of one that
is there, only the lines of the keys that differ are replaced.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

from reel.mcp.wiring.json_text import NotChangeable

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse(text: str) -> dict[str, Any]:
    """Return the values of a text.

    Raises:
        NotChangeable: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise NotChangeable(f"it is not TOML: {error}") from None


def with_table(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """Return a text with a table of values; others that the table has stay.

    Raises:
        NotChangeable: the text is no TOML, or has that table in another form.
    """
    found = _inner(parse(text), path)
    if found is None:
        block = "\n".join([f"[{'.'.join(path)}]", *(f"{key} = {_shown(value)}" for key, value in values.items()), ""])
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return _checked(f"{text}{gap}{block}", path, values)
    begin, end = _block(text, path)
    lines = text[begin:end]
    for key, value in values.items():
        if found.get(key) != value:
            lines = _with_line(lines, key, f"{key} = {_shown(value)}")
    return _checked(text[:begin] + lines + text[end:], path, values)


def _with_line(lines: str, key: str, line: str) -> str:
    """Return the lines of a table in which a key has another line, or one at the end."""
    there = re.search(rf"^[ \t]*{key}[ \t]*=.*$", lines, re.MULTILINE)
    if there is not None:
        return lines[: there.start()] + line + lines[there.end() :]
    last = len(lines.rstrip())
    return f"{lines[:last]}\n{line}" + (lines[last:] or "\n")


def without_table(text: str, path: Sequence[str]) -> str:
    """Return a text without a table and the tables in it.

    Raises:
        NotChangeable: as for :func:`with_table`.
    """
    if _inner(parse(text), path) is None:
        return text
    while _inner(parse(text), path) is not None:
        begin, end = _block(text, path, or_below=True)
        text = (text[:begin].rstrip() + "\n\n" if text[:begin].strip() else "") + text[end:]
    return text.rstrip() + "\n" if text.strip() else ""


def _inner(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any] | None:
    inner: Any = values
    for key in path:
        inner = inner.get(key) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def _block(text: str, path: Sequence[str], *, or_below: bool = False) -> tuple[int, int]:
    """Return where the lines of a table begin, its header included, and where they end."""
    keys = r"\s*\.\s*".join(rf'(?:{re.escape(key)}|"{re.escape(key)}")' for key in path)
    below = r"(?:\s*\.[^\]\n]+)?" if or_below else ""
    header = re.search(rf"^[ \t]*\[\s*{keys}{below}\s*\][ \t]*(?:#.*)?$", text, re.MULTILINE)
    if header is None:
        raise NotChangeable(f"{'.'.join(path)} in it is not a table of its own, with a line [{'.'.join(path)}]")
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, header.end())
    return header.start(), following.start() if following else len(text)


def _shown(value: Any) -> str:
    """Return a value as TOML writes it: its texts and lists are those of JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_shown(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _checked(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """Return a text if it has the values that it should have.

    Raises:
        NotChangeable: it has not: then nothing is written.
    """
    found = _inner(parse(text), path)
    if found is None or not values.items() <= found.items():
        raise NotChangeable(f"{'.'.join(path)} in it is written in a way that is not understood")
    return text
