"""Changes one table in a text of TOML, and leaves every other character as it is. Pure.

The standard library reads TOML and does not write it. A table that is added at the end is a few lines, and of one that
is there, only the lines of the keys that differ are replaced.
"""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reel.mcp.wiring.json_text import NotChangeable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


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
    there = parse(text)
    found = _inner(there, path)
    wanted = _with(there, path, {**(found or {}), **values})
    if found is None:
        block = "\n".join([f"[{'.'.join(path)}]", *(f"{key} = {_shown(value)}" for key, value in values.items()), ""])
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return _one_of([f"{text}{gap}{block}"], path, lambda made: made == wanted)
    changed = {key: value for key, value in values.items() if found.get(key) != value}
    texts = (_with_lines(text, begin, end, changed) for begin, end in _blocks(text, path))
    return _one_of(texts, path, lambda made: made == wanted)


def _with_lines(text: str, begin: int, end: int, values: dict[str, Any]) -> str:
    """Return a text in which the table between two places has other values."""
    lines = text[begin:end]
    for key, value in values.items():
        lines = _with_line(lines, key, f"{key} = {_shown(value)}")
    return text[:begin] + lines + text[end:]


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
    others = _with(parse(text), path, None)
    while _inner(parse(text), path) is not None:
        texts = (_without_lines(text, begin, end) for begin, end in _blocks(text, path, or_below=True))
        text = _one_of(texts, path, lambda made: _with(made, path, None) == others)
    return text.rstrip() + "\n" if text.strip() else ""


def _without_lines(text: str, begin: int, end: int) -> str:
    return (text[:begin].rstrip() + "\n\n" if text[:begin].strip() else "") + text[end:]


def _inner(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any] | None:
    inner: Any = values
    for key in path:
        inner = inner.get(key) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def _with(values: dict[str, Any], path: Sequence[str], table: dict[str, Any] | None) -> dict[str, Any]:
    """Return values with a table at a path; with ``None``, without it and the tables that are empty then."""
    key, *rest = path
    inner = values.get(key, {})
    made = _with(inner if isinstance(inner, dict) else {}, rest, table) if rest else table
    return {**{each: value for each, value in values.items() if each != key}, **({key: made} if made else {})}


def _blocks(text: str, path: Sequence[str], *, or_below: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a table may begin, its header included, and where they may end.

    A line in a text of several lines can look like a header, and one in a list as well: the values tell.
    """
    keys = r"\s*\.\s*".join(rf'(?:{re.escape(key)}|"{re.escape(key)}")' for key in path)
    below = r"(?:\s*\.[^\]\n]+)?" if or_below else ""
    for header in re.finditer(rf"^[ \t]*\[\s*{keys}{below}\s*\][ \t]*(?:#.*)?$", text, re.MULTILINE):
        for following in re.compile(r"^[ \t]*\[", re.MULTILINE).finditer(text, header.end()):
            yield header.start(), following.start()
        yield header.start(), len(text)


def _shown(value: Any) -> str:
    """Return a value as TOML writes it: its texts and lists are those of JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_shown(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _one_of(texts: Iterable[str], path: Sequence[str], is_right: Callable[[dict[str, Any]], bool]) -> str:
    """Return the first of some texts that has the right values.

    Raises:
        NotChangeable: none has: then nothing is written.
    """
    for text in texts:
        with suppress(NotChangeable):
            if is_right(parse(text)):
                return text
    name = ".".join(path)
    raise NotChangeable(f"{name} cannot be a table of its own in it, with a line [{name}]")
