"""Tells a key from a placeholder that only has its shape, and random characters from words."""

from __future__ import annotations

import re
from itertools import pairwise

# What documentation writes in place of a key.
_PLACEHOLDER = re.compile(
    r"example|placeholder|change[-_]?me|redacted|dummy|your[-_]|x{4}|\*{3}|\.{3}|0{6}", re.IGNORECASE
)
# A key has at least so many different characters. Of 32 random digits of base 16, fewer are seen once in 10**10 keys.
_DIFFERENT = 6
# The characters in which placeholders are looked for.
_LOOKED_AT = 512
# So many characters that follow each other in the alphabet were typed: chance makes them once in 100,000 keys.
_IN_A_ROW = 7
# Random characters change between digits, small and large letters more often than once in so many, words do not.
_UNCHANGED = 5
_DIFFERENT_IF_RANDOM = 8
_KINDS = tuple(map(re.compile, ("[0-9]", "[a-z]", "[A-Z]", "[^A-Za-z0-9]")))
# A loop over the characters took 97 s of CPU for 2 MB of `password=` again and again; this takes 4 s.
_OTHERS = re.compile("[^A-Za-z0-9]+")
_SAME_KIND = re.compile("[0-9]+|[a-z]+|[A-Z]+")


def is_placeholder(body: str, *, different: int = _DIFFERENT) -> bool:
    """Return whether what follows the beginning of a key is an example, or the same characters again and again."""
    body = body[:_LOOKED_AT]
    return len(set(body)) < different or _PLACEHOLDER.search(body) is not None or _counts_up(body)


def is_random(value: str) -> bool:
    """Return whether a value changes between digits and letters as often as random characters do, unlike words."""
    if _KINDS[0].search(value) is None or len(set(value)) < _DIFFERENT_IF_RANDOM:
        return False
    letters = _OTHERS.sub("", value)
    changes = len(_SAME_KIND.findall(letters)) - 1
    return changes * _UNCHANGED >= len(letters)


def kinds_of(value: str) -> set[int]:
    """Return which kinds of characters a value has: digits, small and large letters, and others."""
    return {number for number, kind in enumerate(_KINDS) if kind.search(value)}


def _counts_up(body: str) -> bool:
    length = 1
    for before, after in pairwise(body):
        length = length + 1 if ord(after) == ord(before) + 1 else 1
        if length == _IN_A_ROW:
            return True
    return False
