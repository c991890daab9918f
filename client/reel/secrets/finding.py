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
    NAMED,
    PRIVATE_KEY,
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


# A key may follow these escapes, whose end is no part of it: of JSON, of an address, and of a terminal's colour.
_ESCAPE = re.compile(r"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}m)$")
_LONGEST_ESCAPE = 14
# How often a text is looked through again in which something was replaced: what is beside a key may be one only then.
_TIMES = 4
# What a key may not begin behind. One whose beginning has no sign does not follow those of base64 and of paths either.
_BESIDE = re.compile(r"[A-Za-z0-9_+-]")
_BESIDE_LETTERS = re.compile(r"[A-Za-z0-9_+/.-]")


def _any_of(starts: Iterable[str], *others: str) -> re.Pattern[str]:
    """Return an expression for any of these beginnings, the longest first.

    Those with the same first character are together: the engine passes over all of them with one look.
    """
    groups: dict[str, list[str]] = {}
    for start in sorted(starts, key=lambda start: (-len(start), start)):
        groups.setdefault(start[0], []).append(re.escape(start[1:]))
    tries = [f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items()]
    return re.compile("|".join([*tries, *others]))


_BY_START: dict[str, list[Shape]] = {}
for _shape in SHAPES:
    for _start in _shape.starts:
        _BY_START.setdefault(_start, []).append(_shape)
_STARTS = _any_of(_BY_START)
_ALL = _any_of([*_BY_START, ADDRESS, PRIVATE_KEY], HEADER, NAMED)


@cache
def _whole(shape: Shape, start: str) -> re.Pattern[str]:
    """Return the expression of a whole key: compiling all of them takes as long as starting Python."""
    return re.compile(shape.body if shape.before != (0,) else re.escape(start) + shape.body)


def find(text: str) -> list[Found]:
    """Return the secrets in a text, in their order; they do not overlap."""
    return list(_each(text))


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
        for found in _each(text):
            pieces += [text[at : found.start], put(found)]
            at = found.end
        if not pieces:
            break
        text = "".join([*pieces, text[at:]])
    return text


def _each(text: str) -> Iterator[Found]:
    """Yield the secrets of a text; each search begins behind what the one before has looked at."""
    at = since = 0
    for start, end in places(text):
        at = max(start, at)
        while (hit := _ALL.search(text, at, end)) is not None:
            found, at = _try(text, hit, since)
            if found is not None:
                since = found.end
                yield found


def _try(text: str, hit: re.Match[str], since: int) -> tuple[Found | None, int]:
    """Return the secret that begins at a hit, if one does, and where to look on."""
    start, end = hit.span()
    word = hit[0]
    if word in _BY_START:
        return _of_a_shape(text, word, start, since)
    if word == PRIVATE_KEY:
        return _found("private-key", text, private_key(text, start), end)
    if word == ADDRESS:
        return _inside("password", text, password_in_address(text, end), end)
    if word[0] in "Bb":
        return _inside("authorization", text, in_header(text, end), end)
    return _inside("named", text, value_of(text, start, end), end)


def _of_a_shape(text: str, word: str, start: int, since: int) -> tuple[Found | None, int]:
    for shape in _BY_START[word]:
        for length in shape.before:
            begin = start - length
            if begin < since or not _begins(text, begin, since, _BESIDE_LETTERS if word.isalnum() else _BESIDE):
                continue
            if (found := _whole(shape, word).match(text, begin)) is None:
                continue
            key = found.lastindex or 0
            if is_placeholder(found[key] if key or length else found[0][len(word) :]):
                return None, found.end()
            return Found(shape.kind, *found.span(key), found[key]), found.end()
    return None, start + 1


def _begins(text: str, at: int, since: int, beside: re.Pattern[str]) -> bool:
    """Return whether a key may begin at a position: not inside a word, unless that is an escape."""
    if at in (0, since) or not (beside.match(text, at) and beside.match(text, at - 1)):
        return True
    return _ESCAPE.search(text, max(at - _LONGEST_ESCAPE, 0), at) is not None


def _inside(kind: str, text: str, span: tuple[int, int] | None, end: int) -> tuple[Found | None, int]:
    """Return what is in a place for a secret: a key of a known shape, so that it is the same everywhere, or any."""
    if span is None:
        return None, end
    at = span[0]
    while (hit := _STARTS.search(text, at, span[1])) is not None:
        found, at = _of_a_shape(text, hit[0], hit.start(), span[0])
        if found is not None:
            return found, found.end
    return _found(kind, text, span, end)


def _found(kind: str, text: str, span: tuple[int, int] | None, end: int) -> tuple[Found | None, int]:
    return (None, end) if span is None else (Found(kind, *span, text[slice(*span)]), span[1])
