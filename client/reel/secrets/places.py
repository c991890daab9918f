"""Where in a text a secret may be at all: at long runs of the characters of keys, and behind a few words.

The expression that knows all beginnings takes 80 ms for 1 MB of code. Because of this it is used on 3 % of that, and
finding these takes 9 ms.
"""

from __future__ import annotations

import re

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A key, with its beginning, is no shorter.
_LEAST = 16
_RUN = b"x" * _LEAST
_IN_RUNS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=:%$@~&?!#^*")
_CLASSES = bytes(_RUN[0] if code in _IN_RUNS else ord(" ") for code in range(256))
_ALL_BUT_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
# A run without a digit is words, unless so many letters follow each other.
_LONG_WORD = re.compile(rb"[A-Za-z0-9]{14}")
# What a name, a sign and a quotation mark take before their value.
_BEFORE = 48
# What secrets follow that may be shorter, and how far behind they begin.
_WORDS = (("assw", 16), ("ASSW", 16), ("-----BEGIN ", 11))


def places(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text in which secrets may begin, in their order; they do not overlap."""
    found: list[tuple[int, int]] = []
    if len(text) >= _LEAST:
        raw = text.encode("ascii", "replace")  # one byte for each character
        classes = raw.translate(_CLASSES)
        if classes.find(_RUN) >= 0:  # `in` first asks whether it is a number, with an exception inside
            found += _runs(raw, classes)
    for word, behind in _WORDS:
        if word in text:
            found += _around(text, word, behind)
    return _merged(found) if len(found) > 1 else found


def _runs(raw: bytes, classes: bytes) -> Iterator[tuple[int, int]]:
    end = 0
    while (hit := classes.find(_RUN, end)) >= 0:
        start = classes.rfind(b" ", end, hit) + 1 or end
        end = classes.find(b" ", hit)
        end = len(raw) if end < 0 else end
        if raw[start:end].translate(None, _ALL_BUT_DIGITS) or _LONG_WORD.search(raw, start, end):
            yield max(start - _BEFORE, 0), end


def _around(text: str, word: str, behind: int) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield max(at - _BEFORE, 0), min(at + behind, len(text))
        at = text.find(word, at + 1)


def _merged(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
