"""Chunks of ``streamGenerateContent`` (``google.genai.types.GenerateContentResponse``) folded into one response."""

import re
from itertools import pairwise
from typing import Any

from reel.base.strict_json import encode
from reel.streams.incremental import (
    IncrementalMap,
    dict_or_empty,
    index_or_zero,
    join_surrogates,
    list_or_empty,
    text_or_empty,
)

# The keys that a part may have if it is joined with the previous part.
_TEXT_KEYS = frozenset({"text", "thought", "thoughtSignature"})
_EMPTY_TEXT_KEYS = frozenset({"text", "thought"})
# Lists that every chunk extends: the names in the Gemini API, and in Vertex.
_CITATIONS = ("citationSources", "citations")
_OF_A_CHUNK = ("candidates", "error")
_CALL_KEYS = ("partialArgs", "willContinue")
# A step of a JSON path (RFC 9535): a name, a quoted name, an index in a list.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\d{1,9}))\]""")
_DEPTH = 100
_ESCAPED = re.compile(r"\\(.)")


class Gemini:
    """The response so far; ``complete`` once the first candidate has a finish reason, or the prompt was blocked."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, _name: str, chunk: dict[str, Any]) -> str:
        """Fold a chunk; return the text that it adds."""
        self._top.update({key: value for key, value in chunk.items() if key not in _OF_A_CHUNK and value is not None})
        self.complete = self.complete or "blockReason" in dict_or_empty(chunk.get("promptFeedback"))
        text = ""
        for candidate in map(dict_or_empty, list_or_empty(chunk.get("candidates"))):
            index = index_or_zero(candidate.get("index"))
            brought = self._candidates.setdefault(index, _Candidate()).feed(candidate)
            if index == 0:
                text += brought
                self.complete = self.complete or candidate.get("finishReason") is not None
        return text

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Return the response, as received so far."""
        candidates = [candidate.value() for _, candidate in sorted(self._candidates.items())]
        return {"candidates": candidates, **self._top} if candidates else self._top


class _Candidate:
    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._content: dict[str, Any] = {"role": "model"}
        self._parts: list[IncrementalMap | PartialCall] = []

    def feed(self, candidate: dict[str, Any]) -> str:
        content = dict_or_empty(candidate.get("content"))
        for key, value in candidate.items():
            if key == "citationMetadata":
                self._top[key] = _cited(dict_or_empty(self._top.get(key)), dict_or_empty(value))
            elif key != "content" and value is not None:
                self._top[key] = value
        self._content.update({key: value for key, value in content.items() if key != "parts" and value is not None})
        return "".join(map(self._take, map(dict_or_empty, list_or_empty(content.get("parts")))))

    def _take(self, part: dict[str, Any]) -> str:
        """Append a part, or join it with the last one: a text that continues, or its signature.

        A signature belongs to the text that it came with or after, so the text after it is another part.
        Many streams end with an empty text, which is not a part.
        """
        text = text_or_empty(part.get("text"))
        last = self._parts[-1] if self._parts else None
        if isinstance(last, PartialCall) and last.open and "functionCall" in part:
            last.feed(part)
        elif "willContinue" in dict_or_empty(part.get("functionCall")):
            self._parts.append(PartialCall(part))
        elif isinstance(last, IncrementalMap) and _goes_on(last.known, part):
            last.grow("text", text)
            if "thoughtSignature" in part:
                last.known["thoughtSignature"] = part["thoughtSignature"]
        elif text or "text" not in part or not part.keys() <= _EMPTY_TEXT_KEYS:
            self._parts.append(IncrementalMap(part))
        return "" if part.get("thought") else text

    def value(self) -> dict[str, Any]:
        content = {"parts": [part.value() for part in self._parts], **self._content}
        return {"content": content, **self._top} if self._parts else self._top


def _goes_on(last: dict[str, Any], part: dict[str, Any]) -> bool:
    return (
        last.keys() <= _TEXT_KEYS
        and part.keys() <= _TEXT_KEYS
        and "thoughtSignature" not in last
        and "text" in last
        and bool(last.get("thought")) == bool(part.get("thought"))
    )


def _cited(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    lists = {key: list_or_empty(known.get(key)) + list_or_empty(given[key]) for key in _CITATIONS if key in given}
    return {**known, **given, **lists}


class PartialCall:
    """A call of Vertex's Gemini whose arguments arrive in pieces (``partialArgs``), if the request asked for that.

    It is ``open`` until its last piece has arrived.

    Args:
        part: the part that it begins with.
    """

    def __init__(self, part: dict[str, Any]) -> None:
        self.open = True
        self.known: dict[str, Any] = {}
        self._call: dict[str, Any] = {}
        # What was received for each path: the pieces of a text, or another value as the only item.
        self._given: dict[str, list[Any]] = {}
        self.feed(part)

    def feed(self, part: dict[str, Any]) -> None:
        """Process the next piece."""
        call = dict_or_empty(part.get("functionCall"))
        self.open = call.get("willContinue") is True
        self.known.update(part)
        self._call.update({key: value for key, value in call.items() if key not in _CALL_KEYS})
        for piece in map(dict_or_empty, list_or_empty(call.get("partialArgs"))):
            path = text_or_empty(piece.get("jsonPath"))
            if "stringValue" in piece:
                self._given.setdefault(path, []).append(text_or_empty(piece["stringValue"]))
            elif "nullValue" in piece:
                self._given[path] = [None]
            else:
                self._given[path] = [piece.get("boolValue", piece.get("numberValue"))]

    def value(self) -> dict[str, Any]:
        """Return the part, as received so far; truncated arguments are a JSON text without its end."""
        args: Any = dict(dict_or_empty(self._call.get("args")))
        for path, pieces in self._given.items():
            _put(args, path, join_surrogates("".join(pieces)) if isinstance(pieces[0], str) else pieces[0])
        if self.open:
            args = encode(args)[:-1]
        return {**self.known, "functionCall": {**self._call, "args": args}}


def _put(root: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path; an invalid path is treated as the name of an argument."""
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
    """Set a member of a map, or an item of a list: an existing one, or else the next."""
    if isinstance(place, dict):
        place[str(step)] = value
    elif isinstance(step, int) and step < len(place):
        place[step] = value
    else:
        place.append(value)
