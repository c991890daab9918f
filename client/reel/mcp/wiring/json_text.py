"""Changes one value in a text of JSON with comments, and leaves every other character as it is. Pure.

VS Code, Zed, opencode and Gemini CLI allow comments and commas before a closing bracket in their settings. A parser
would lose them, so the text is only scanned for the places of keys and values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from reel.base.light_typing import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}\[{\":/]+")
_INDENT = 2


class NotChangeable(ValueError):
    """A text that is no JSON, or has something else where the value belongs."""


class _Part(NamedTuple):
    """A member of an object, or an element of an array, without a key: where it and its value begin, and its end."""

    key: str
    begin: int
    value: int
    end: int


class _Group(NamedTuple):
    """An object or an array: its parts, where its bracket closes, and whether a comma stands before that."""

    parts: list[_Part]
    begin: int
    close: int
    has_comma: bool


def parse(text: str) -> Any:
    """Return the value of a text.

    Raises:
        NotChangeable: it is no JSON, even with comments.
    """
    plain = re.sub(rf"({_STRING.pattern})|//[^\n]*|/\*.*?\*/", lambda found: found[1] or " ", text, flags=re.DOTALL)
    plain = re.sub(rf"({_STRING.pattern})|,(?=\s*[\]}}])", lambda found: found[1] or "", plain, flags=re.DOTALL)
    try:
        return json.loads(plain.removeprefix("\ufeff")) if plain.strip("\ufeff \t\r\n") else {}
    except (ValueError, RecursionError) as error:
        raise NotChangeable(f"it is not JSON: {error}") from None


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """Return a text in which a key of nested objects has a value; those that are missing are added.

    Raises:
        NotChangeable: the text is no JSON, or one of the objects is something else.
    """
    wanted = parse(text)
    if text.strip("\ufeff \t\r\n") == "":
        text = "{}\n"
    inner = _inner(wanted, path)
    if inner.get(path[-1]) == value and path[-1] in inner:
        return text
    inner[path[-1]] = value
    group = _group(text, _start(text))
    for depth, key in enumerate(path):
        part = next((part for part in reversed(group.parts) if part.key == key), None)
        if part is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _checked(_added(text, group, f"{json.dumps(key)}: ", value), wanted)
        if depth == len(path) - 1:
            shown = _shown(value, _indent_at(text, part.begin))
            return _checked(text[: part.value] + shown + text[part.end :], wanted)
        group = _group(text, part.value)
    raise AssertionError("a path has a key")


def with_element(text: str, path: Sequence[str], element: Any) -> str:
    """Return a text in which an array, at a key of nested objects, ends with an element; see :func:`with_value`."""
    wanted = parse(text)
    array = _inner(wanted, path).get(path[-1])
    if array is None:
        return with_value(text, path, [element])
    if not isinstance(array, list):
        raise NotChangeable(f"{'.'.join(path)} in it is not a list")
    if element in array:
        return text
    array.append(element)
    group = _at(text, path)
    return _checked(_added(text, group, "", element), wanted)


def without_value(text: str, path: Sequence[str]) -> str:
    """Return a text without a key of nested objects, and without the objects that are empty then.

    Raises:
        NotChangeable: as for :func:`with_value`.
    """
    wanted = parse(text)
    inner = _inner(wanted, path, adds=False)
    if path[-1] not in inner:
        return text
    del inner[path[-1]]
    group = _at(text, path[:-1]) if len(path) > 1 else _group(text, _start(text))
    index = max(number for number, part in enumerate(group.parts) if part.key == path[-1])
    text = _checked(_removed(text, group, index), wanted)
    return without_value(text, path[:-1]) if not inner and len(path) > 1 else text


def without_elements(text: str, path: Sequence[str], is_one: Callable[[Any], bool]) -> str:
    """Return a text without the elements of an array that a function accepts, and without it if it is empty then."""
    wanted = parse(text)
    array = _inner(wanted, path, adds=False).get(path[-1])
    if not isinstance(array, list):
        return text
    for index in [number for number, each in enumerate(array) if is_one(each)][::-1]:
        text = _removed(text, _at(text, path), index)
        del array[index]
    return without_value(text, path) if not array else _checked(text, wanted)


def _inner(value: Any, path: Sequence[str], *, adds: bool = True) -> dict[str, Any]:
    """Return the object that has the last key of a path; those on the way to it are added."""
    for number, key in enumerate(("", *path[:-1])):
        if number:
            value = value.setdefault(key, {}) if adds else value.get(key, {})
        if not isinstance(value, dict):
            raise NotChangeable(f"{'.'.join(path[:number]) or 'the whole of it'} is not an object")
    found: dict[str, Any] = value
    return found


def _start(text: str) -> int:
    return _skip(text, 1 if text.startswith("\ufeff") else 0)


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _end(text: str, place: int) -> int:
    """Return the end of the value that begins at a place."""
    if text[place] in "{[":
        return _group(text, place).close + 1
    found = (_STRING if text[place] == '"' else _SCALAR).match(text, place)
    if found is None:
        raise NotChangeable("it is not JSON")
    return found.end()


def _group(text: str, begin: int) -> _Group:
    """Return the object or the array that begins at a place."""
    parts: list[_Part] = []
    is_object, place, has_comma = text[begin] == "{", _skip(text, begin + 1), False
    while text[place] not in "]}":
        first, key = place, ""
        if is_object:
            key = json.loads(text[first : _end(text, first)])
            place = _skip(text, _skip(text, _end(text, first)) + 1)  # after the colon
        end = _end(text, place)
        parts.append(_Part(key, first, place, end))
        place = _skip(text, end)
        has_comma = text[place] == ","
        if has_comma:
            place = _skip(text, place + 1)
    return _Group(parts, begin, place, has_comma)


def _at(text: str, path: Sequence[str]) -> _Group:
    """Return the object or array at a path."""
    group = _group(text, _start(text))
    for key in path:
        group = _group(text, next(part.value for part in reversed(group.parts) if part.key == key))
    return group


def _indent_at(text: str, place: int) -> str:
    """Return the blanks at the beginning of the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _shown(value: Any, indent: str) -> str:
    """Return a value as text, whose first line stands on a line with an indent."""
    unit = "\t" if indent.startswith("\t") else _INDENT
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")


def _added(text: str, group: _Group, key: str, value: Any) -> str:
    """Return a text in which an object or array has one more part at its end."""
    outer = _indent_at(text, group.close)
    own_line = group.parts and "\n" in text[group.begin : group.parts[0].begin]
    inner = _indent_at(text, group.parts[0].begin) if own_line else outer + ("\t" if "\n\t" in text else " " * _INDENT)
    member = f"\n{inner}{key}{_shown(value, inner)}"
    last = len(text[: group.close].rstrip())
    if not group.parts:
        # Comments in it stay in front.
        return f"{text[:last]}{member}\n{outer}{text[group.close :]}"
    if group.has_comma:
        return f"{text[:last]}{member},\n{outer}{text[group.close :]}"
    comma = group.parts[-1].end
    return f"{text[:comma]},{text[comma:last]}{member}\n{outer}{text[group.close :]}"


def _removed(text: str, group: _Group, index: int) -> str:
    """Return a text in which an object or array lacks a part, its line, and the comma that belonged to it."""
    part = group.parts[index]
    low = group.parts[index - 1].end if index else group.begin + 1
    line = text.rfind("\n", low, part.begin)
    begin, end = part.begin if line < 0 else line, part.end
    if index + 1 < len(group.parts) or group.has_comma:
        end = _skip(text, part.end) + 1
    elif index:
        comma = _skip(text, low)
        text, begin, end = text[:comma] + text[comma + 1 :], begin - 1, end - 1
    text = text[:begin] + text[end:]
    close = _group(text, group.begin).close
    inside = text[group.begin + 1 : close]
    return text if inside.strip() else text[: group.begin + 1] + text[close:]


def _checked(text: str, wanted: Any) -> str:
    """Return a text if it has the value that it should have.

    Raises:
        NotChangeable: it has not: then nothing is written.
    """
    if parse(text) != wanted:
        raise NotChangeable("it is written in a way that is not understood")
    return text
