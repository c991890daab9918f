"""Snippets of a found text: the words around the first match, the positions of the matches, and a score."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from reeld.search.query import Term
from reeld.search.words import fold, locate, parts, words

# Characters of a snippet, and how many of them precede the first match.
SIZE = 240
_BEFORE = 60
# A text is searched in overlapping windows of this many characters.
_WINDOW = 4096
_OVERLAP = 256
# A letter of a folded text. A negated set: a range up to U+10FFFF would take `re` milliseconds to compile.
_LETTER = r"[^\x00-/:-`{-\x7f]"
# How quickly further matches of a term lose weight, and the length of an average text in characters.
_SATURATION = 1.2
_USUAL = 1000
# The number of leading characters of a text that are scored.
_SCORED = 16 << 10


class Snippet(NamedTuple):
    """A piece of a text, and the positions of the matches in it: pairs of begin and end, in characters."""

    text: str
    matches: list[tuple[int, int]]


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """Return the words around the first match, or the beginning of the text."""
    first = _first(text, terms)
    begin = max(0, first - _BEFORE)
    if begin and (space := text.find(" ", begin, first)) > 0:
        begin = space + 1
    end = min(len(text), begin + SIZE)
    found = ((max(a, begin), min(b, end)) for a, b in _matches(text, begin, end, terms))
    return Snippet(text[begin:end], [(a - begin, b - begin) for a, b in _merged(found) if a < b])


def _first(text: str, terms: Sequence[Term]) -> int:
    if not terms:
        return 0
    needles = {term.phrases[0][0] for term in terms} | {term.phrases[-1][0] for term in terms}
    for begin in range(0, len(text), _WINDOW - _OVERLAP):
        window = text[begin : begin + _WINDOW]
        folded = fold(window)
        if any(needle in folded for needle in needles):
            found = list(_matches(text, begin, begin + _WINDOW, terms))
            if found:
                return min(found)[0]
    return 0


def _matches(text: str, begin: int, end: int, terms: Sequence[Term]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the matches in a range of a text, relative to the whole text."""
    begin, window = max(0, begin - 1), text[max(0, begin - 1) : end + 1]
    for divided in (False, True) if parts(window) else (False,):
        located = locate(window, divided=divided)
        for term in terms:
            for found in _pattern(term).finditer(located.text):
                first, last = found.start(), found.end() - 1
                while located.text[first] == " ":
                    first += 1
                yield begin + located.places[first], begin + located.places[last] + 1


@lru_cache(256)
def _pattern(term: Term) -> re.Pattern[str]:
    ending = f"{_LETTER}*" if term.is_prefix else f"(?!{_LETTER})"
    separator = f"(?:(?!{_LETTER}).)+"
    phrases = (separator.join(map(re.escape, phrase)) for phrase in term.phrases)
    return re.compile(f"(?<!{_LETTER})(?:{'|'.join(phrases)}){ending}", re.DOTALL)


def _merged(matches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return matches in order; merge those that touch."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(matches):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def score(text: str, terms: Sequence[Term]) -> float:
    """Return how well a text matches: more occurrences of the terms score higher, a long text lower.

    It is BM25 without the rarity of the terms: every hit has all of them, so the rarity would differ only between the
    sides of an ``OR``. FTS5's own ``bm25`` counts every event that has a term, however many there are.
    """
    beginning = text[:_SCORED]
    folded = " ".join([*words(beginning), "", *parts(beginning)])
    weight = _SATURATION * (0.25 + 0.75 * min(len(text) / _USUAL, 10))
    counts = (len(_pattern(term).findall(folded)) for term in terms)
    return round(sum(count / (count + weight) for count in counts), 4)
