"""Which lines of one text are certainly lines of another, if nobody knows what happened in between.

A line is matched if its text says enough to be known again, and is in both texts once (as in a patience diff). Lines
that say nothing, such as ``}``, are matched by their neighbours alone: if the lines between two matched ones are the
same in both texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from reel.blame.telling import STRONG, TELLING, weight

# A line of the old text where pieces of a file meet; it is equal to no line.
BORDER = None


def matches(old: Sequence[str | None], new: Sequence[str], *, whole: bool) -> dict[int, int]:
    """Match lines of the new text with lines of the old one; return the places in the old text by those in the new one.

    Args:
        old: the lines of the old text, or of pieces of it with :data:`BORDER` between them.
        new: the lines of the new text, all of them.
        whole: whether ``old`` has all lines of the file, in their order.
    """
    pairs = _anchors(old, new, whole=whole)
    found = {at: begin for begin, at in pairs}
    edges = [(-1, -1), (len(old), len(new))] if whole else []
    for (begin, at), (end, at_end) in pairwise(sorted([*pairs, *edges])):
        between, among = old[begin + 1 : end], new[at + 1 : at_end]
        if at < at_end and list(between) == list(among):
            found |= {at + 1 + step: begin + 1 + step for step in range(len(among))}
        elif at < at_end and whole:
            found |= {at + 1 + place: begin + 1 + other for other, place in _from_both_ends(between, among)}
    found |= _indented_anew(old, new, found)
    return found


def _anchors(old: Sequence[str | None], new: Sequence[str], *, whole: bool) -> list[tuple[int, int]]:
    """Return the pairs of lines that are in both texts once, and say enough."""
    least = TELLING if whole else STRONG
    places = {line: at for at, line in enumerate(new)}
    olds, news = Counter(old), Counter(new)
    pairs = [
        (begin, places[line])
        for begin, line in enumerate(old)
        if line is not None and olds[line] == 1 == news[line] and weight(line) >= least
    ]
    kept = set(_in_order([at for _, at in pairs]))
    return [pair for pair in pairs if pair[1] in kept or weight(new[pair[1]]) >= STRONG]


def _in_order(numbers: Sequence[int]) -> list[int]:
    """Return a longest increasing subsequence of different numbers."""
    ends: list[int] = []
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(tails, number)
        before[number] = tails[at - 1] if at else None
        tails[at:] = [number, *tails[at + 1 :]] if at < len(tails) else [number]
    last = tails[-1] if tails else None
    while last is not None:
        ends.append(last)
        last = before[last]
    return ends[::-1]


def _from_both_ends(old: Sequence[str | None], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs at both ends of two stretches, up to a line that says nothing or occurs twice."""
    olds, news = Counter(old), Counter(new)
    pairs: list[tuple[int, int]] = []
    for step in (1, -1):
        for place, (line, other) in enumerate(zip(old[::step], new[::step], strict=False)):
            if line != other or olds[line] > 1 or news[other] > 1 or not weight(other):
                break
            pairs.append((place, place) if step == 1 else (len(old) - 1 - place, len(new) - 1 - place))
    return pairs


def _indented_anew(old: Sequence[str | None], new: Sequence[str], found: dict[int, int]) -> dict[int, int]:
    """Return matches of lines that differ only in the space around them, and that occur once."""
    olds = Counter(line.strip() for line in old if line is not None)
    news = Counter(line.strip() for line in new)
    taken = set(found.values())
    places = {line.strip(): at for at, line in enumerate(new) if at not in found}
    return {
        at: begin
        for begin, line in enumerate(old)
        if line is not None and begin not in taken and olds[line.strip()] == 1 == news[line.strip()]
        if (at := places.get(line.strip())) is not None and weight(line) >= STRONG
    }
