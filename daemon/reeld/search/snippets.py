"""Snippets of a found text: the piece with the most and rarest words of a query, and the positions of the matches."""

from collections import Counter
from collections.abc import Iterable, Sequence
from unicodedata import category

from reel.base.light_typing import NamedTuple
from reeld.search.marks import Form, Mark, marks
from reeld.search.query import Term

# Characters of a snippet, and which part of them precedes the first match.
SIZE = 240
_BEFORE = 1 / 4
# How much a further match of the same word counts, beside the first.
_AGAIN = 0.1
# What joins emoji, and that with the tones of skin.
_JOINER = "\u200d"
_MORE = frozenset("\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
# How quickly further matches of a term lose weight, and the length of an average text in characters.
_SATURATION = 1.2
_USUAL = 1000
# The number of leading characters of a text that are scored.
_SCORED = 16 << 10


class Wanted(NamedTuple):
    """Something that is marked in a text: its forms, and how much it counts."""

    forms: tuple[Form, ...]
    weight: float = 1.0


def wanted_of(terms: Iterable[Term]) -> list[Wanted]:
    """Return what is marked for the terms of a query."""
    return [Wanted(tuple(Form(phrase, term.is_prefix) for phrase in term.phrases)) for term in terms]


class Snippet(NamedTuple):
    """A piece of a text.

    Args:
        text: the piece.
        matches: the positions of the matches in it: pairs of begin and end, in characters.
        has: the numbers of what is marked anywhere in the text.
    """

    text: str
    matches: list[tuple[int, int]]
    has: frozenset[int]


def snippet(
    text: str, wanted: Sequence[Wanted], size: int = SIZE, others: Sequence[Sequence[tuple[int, int]]] = ()
) -> Snippet:
    """Return the piece of a text with the most and rarest words, or its beginning.

    Args:
        text: the text.
        wanted: the words.
        size: how many characters the piece has at most.
        others: the places of what else is marked, one sequence for each thing.
    """
    found = marks(text, [each.forms for each in wanted])
    found = sorted(
        found + [Mark(*place, number) for number, places in enumerate(others, len(wanted)) for place in places]
    )
    weights = [*(each.weight for each in wanted), *(1.0 for _ in others)]
    before = int(size * _BEFORE)
    best = _best(found, weights, size - before)
    begin = max(0, best - before)
    if begin and (space := text.find(" ", begin, begin + before)) > 0:
        begin = space + 1
    begin = next((at for at in range(begin, best) if _divides(text, at)), begin)
    end = min(len(text), begin + size)
    end = next((at for at in range(end, begin, -1) if _divides(text, at)), end)
    inside = ((max(mark.begin, begin), min(mark.end, end)) for mark in found)
    matches = [(a - begin, b - begin) for a, b in _merged(inside) if a < b]
    return Snippet(text[begin:end], matches, frozenset(mark.of for mark in found))


def _divides(text: str, at: int) -> bool:
    """Return whether a text may be cut at a place: accents, and the parts of an emoji, stay where they belong."""
    return at in {0, len(text)} or not (text[at - 1] == _JOINER or text[at] in _MORE or category(text[at])[0] == "M")


def _best(found: Sequence[Mark], weights: Sequence[float], size: int) -> int:
    """Return where the matches begin that are worth most together, of those in so many characters."""
    if found and max(mark.end for mark in found) <= found[0].begin + size:  # then nothing is worth more than all
        return found[0].begin
    inside: Counter[int] = Counter()
    best, at, last = -1.0, 0, 0
    for number, mark in enumerate(found):
        while last < len(found) and found[last].end <= mark.begin + size:
            inside[found[last].of] += 1
            last += 1
        worth = sum(weights[of] * (1 + _AGAIN * min(times - 1, 3)) for of, times in inside.items() if times > 0)
        if worth > best + 1e-9:
            best, at = worth, mark.begin
        if last > number:
            inside[mark.of] -= 1
        else:
            last = number + 1
    return at


def _merged(matches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return matches in order; merge those that touch."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(matches):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def score(text: str, wanted: Sequence[Wanted]) -> float:
    """Return how well a text matches: more occurrences of the terms score higher, a long text lower.

    It is BM25 without the rarity of the terms, for hits that are not ranked: all of them have all terms.
    """
    counts = Counter(mark.of for mark in marks(text[:_SCORED], [each.forms for each in wanted]))
    weight = _SATURATION * (0.25 + 0.75 * min(len(text) / _USUAL, 10))
    return round(sum(count / (count + weight) for count in counts.values()), 4)
