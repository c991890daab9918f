"""Calls of Vertex's Gemini whose arguments come in pieces (``partialArgs``), where a request asked for that."""

import json
import re
from itertools import pairwise
from typing import Any

from reel.streams.incremental import a_list, a_map, a_text, whole

_OWN = ("partialArgs", "willContinue")
# A step of a JSON path (RFC 9535): a name, a quoted name, a place in a list.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\d{1,9}))\]""")
_DEPTH = 100
_ESCAPED = re.compile(r"\\(.)")


class PartialCall:
    """A part with such a call; ``open`` until its last piece has come.

    Args:
        part: the part that it begins with.
    """

    def __init__(self, part: dict[str, Any]) -> None:
        self.open = True
        self.known: dict[str, Any] = {}
        self._call: dict[str, Any] = {}
        # What came for each path: the pieces of a text, or another value in a list of its own.
        self._given: dict[str, list[Any]] = {}
        self.feed(part)

    def feed(self, part: dict[str, Any]) -> None:
        """Take the next piece."""
        call = a_map(part.get("functionCall"))
        self.open = call.get("willContinue") is True
        self.known.update(part)
        self._call.update({key: value for key, value in call.items() if key not in _OWN})
        for piece in map(a_map, a_list(call.get("partialArgs"))):
            path = a_text(piece.get("jsonPath"))
            if "stringValue" in piece:
                self._given.setdefault(path, []).append(a_text(piece["stringValue"]))
            elif "nullValue" in piece:
                self._given[path] = [None]
            else:
                self._given[path] = [piece.get("boolValue", piece.get("numberValue"))]

    def value(self) -> dict[str, Any]:
        """Give the part, as far as it has come; arguments that broke off are a text without its end."""
        args: Any = dict(a_map(self._call.get("args")))
        for path, pieces in self._given.items():
            _put(args, path, whole("".join(pieces)) if isinstance(pieces[0], str) else pieces[0])
        if self.open:
            args = json.dumps(args, ensure_ascii=False)[:-1]
        return {**self.known, "functionCall": {**self._call, "args": args}}


def _put(root: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path; one that leads nowhere is the name of an argument itself."""
    steps = _steps(path)
    place: Any = root
    for step, following in pairwise(steps):
        place = _enter(place, step, [] if isinstance(following, int) else {})
    _set(place, steps[-1], value)


def _steps(path: str) -> list[str | int]:
    found = [
        int(place) if place else name or _ESCAPED.sub(r"\1", single or double)
        for name, single, double, place in _STEP.findall(path)
    ]
    return found if 0 < len(found) <= _DEPTH else [path]


def _enter(place: Any, step: str | int, missing: Any) -> Any:
    found = _at(place, step)
    if isinstance(found, dict | list):
        return found
    _set(place, step, missing)
    return missing


def _at(place: Any, step: str | int) -> Any:
    if isinstance(place, list):
        return place[step] if isinstance(step, int) and step < len(place) else None
    return place.get(step)


def _set(place: Any, step: str | int, value: Any) -> None:
    """Set a member; in a list only what is there or comes next."""
    if isinstance(place, dict):
        place[str(step)] = value
    elif isinstance(step, int) and step < len(place):
        place[step] = value
    else:
        place.append(value)
