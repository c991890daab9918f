"""Finds the secrets in a text, and replaces them by marks.

One expression looks for all that may begin a secret; then the shape that begins so is tried there. What was tried and
is none is not looked at again, so the time grows with the length of the text, whatever it says.
"""

from __future__ import annotations

import re
from functools import cache

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.secrets.contexts import (
    ADDRESS,
    HEADER,
    PRIVATE_KEY,
    SIGN,
    in_header,
    password_in_address,
    private_key,
    value_of,
)
from reel.secrets.examples import is_placeholder
from reel.secrets.marks import ANY, mark, without_marks
from reel.secrets.places import places
from reel.secrets.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reel.secrets.shapes import Shape


class Found(NamedTuple):
    """A secret in a text.

    Args:
        kind: what it is, such as ``github-token``.
        start: where it begins.
        end: where it ends.
        text: the secret itself.
    """

    kind: str
    start: int
    end: int
    text: str


# How often a text is looked through again in which something was replaced: what is beside a key may be one only then.
_TIMES = 4
# A key begins where no word goes on, or behind an escape of JSON, of an address, or of a terminal's colour.
_ESCAPE = r"\\(?:[nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}m"
_ESCAPES = frozenset("\\%[")
_BEHIND_ESCAPE = re.compile(f"(?:{_ESCAPE})?")
# One whose beginning has no sign does not begin in the middle of base64 and of a path either.
_BESIDE_LETTERS = frozenset("/.")


def any_of(starts: Iterable[str]) -> str:
    """Return an expression for any of these beginnings, the longest first.

    Those with the same first character are together: the engine passes over all of them with one look.
    """
    groups: dict[str, list[str]] = {}
    for start in sorted(starts, key=lambda start: (-len(start), start)):
        groups.setdefault(start[0], []).append(re.escape(start[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())


_BY_START: dict[str, list[Shape]] = {}
for _shape in SHAPES:
    for _start in _shape.starts:
        _BY_START.setdefault(_start, []).append(_shape)
_INSIDE = [start for start, (shape, *_) in _BY_START.items() if shape.before != (0,) or not start[0].isalnum()]
_OUTSIDE = [start for start in _BY_START if start not in _INSIDE]
# Most positions are passed over with one look at the character before. Groups would cost as much again.
_STARTS = f"(?:(?<![A-Za-z0-9_+-])|{_ESCAPE})(?:{any_of(_OUTSIDE)})|{any_of(_INSIDE)}"
_OF_SHAPES = re.compile(_STARTS)
_ALL = re.compile(f"{_STARTS}|{any_of([ADDRESS, PRIVATE_KEY])}|{SIGN}|{HEADER}")


@cache
def _whole(shape: Shape, start: str) -> re.Pattern[str]:
    """Return the expression of a whole key: compiling all of them takes as long as starting Python."""
    return re.compile(shape.body if shape.before != (0,) else re.escape(start) + shape.body)


def find(text: str) -> list[Found]:
    """Return the secrets in a text, in their order; they do not overlap."""
    return list(_each(text, near)) if (near := places(text)) else []


def mask(text: str, fingerprint: Callable[[str], str]) -> str:
    """Return a text with a mark in place of each secret; the same text if it has none.

    Args:
        text: the text. Marks in it stay.
        fingerprint: returns 16 hexadecimal digits for a secret, which tell nothing of it without a key.
    """
    return _replaced(text, lambda found: mark(found.kind, fingerprint(found.text)))


def anonymous(text: str) -> str:
    """Return a text with the same word in place of each secret and each mark.

    So a text is known again, whether it was masked or not, and with which key.
    """
    return without_marks(_replaced(text, lambda _found: ANY))


def _replaced(text: str, put: Callable[[Found], str]) -> str:
    for _ in range(_TIMES):
        pieces, at = list[str](), 0
        for found in _each(text, places(text)):
            pieces += [text[at : found.start], put(found)]
            at = found.end
        if not pieces:
            break
        text = "".join([*pieces, text[at:]])
    return text


def _each(text: str, near: list[tuple[int, int]]) -> Iterator[Found]:
    """Yield the secrets in some parts of a text; each search begins behind what the one before has looked at."""
    at = since = 0
    for start, end in near:
        at = max(start, at)
        while (hit := _ALL.search(text, at, end)) is not None:
            found, at = _try(text, hit, since)
            if found is not None:
                since = found.end
                yield found


def _try(text: str, hit: re.Match[str], since: int) -> tuple[Found | None, int]:
    """Return the secret at a hit, if there is one behind the one before, and where to look on."""
    word, (start, end) = hit[0], hit.span()
    if word[0] in _ESCAPES or word in _BY_START:
        return _of_a_shape(text, hit, since)
    if word == PRIVATE_KEY:
        return _found("private-key", text, private_key(text, start), end)
    if word == ADDRESS:
        return _inside("password", text, password_in_address(text, end), end)
    if word[0] in "Bb":
        return _inside("authorization", text, in_header(text, end), end)
    # The name of an option is in the hit, any other one before it.
    return _inside("named", text, value_of(text, end - 1 if word[0] == "-" else start, end), end)


def _of_a_shape(text: str, hit: re.Match[str], since: int) -> tuple[Found | None, int]:
    start = hit.start()
    if hit[0] not in _BY_START and (escape := _BEHIND_ESCAPE.match(text, start)) is not None:
        start = escape.end()
    word = text[start : hit.end()]
    if word.isalnum() and text[max(start - 1, 0) : start] in _BESIDE_LETTERS:
        return None, start + 1
    for shape in _BY_START[word]:
        for length in shape.before:
            begin = start - length
            if begin < since or (found := _whole(shape, word).match(text, begin)) is None:
                continue
            key = found.lastindex or 0
            if is_placeholder(found[key] if key or length else found[0][len(word) :]):
                return None, found.end()
            return Found(shape.kind, *found.span(key), found[key]), found.end()
    return None, start + 1


def _inside(kind: str, text: str, span: tuple[int, int] | None, end: int) -> tuple[Found | None, int]:
    """Return what is in a place for a secret: a key of a known shape, so that it is the same everywhere, or any."""
    if span is None:
        return None, end
    at = span[0]
    while (hit := _OF_SHAPES.search(text, at, span[1])) is not None:
        found, at = _of_a_shape(text, hit, span[0])
        if found is not None:
            return found, found.end
    return _found(kind, text, span, end)


def _found(kind: str, text: str, span: tuple[int, int] | None, end: int) -> tuple[Found | None, int]:
    return (None, end) if span is None else (Found(kind, *span, text[slice(*span)]), span[1])
