"""Who wrote the lines of a text after a known edit, given who wrote those before it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from reel.blame.telling import TELLING, weight

T = TypeVar("T")


class Line(NamedTuple, Generic[T]):
    """A line with its end, and its writer, which is None if that is not known.

    Its text is None if the line may have been changed.
    """

    text: str | None
    writer: T | None = None

    @property
    def words(self) -> str | None:
        """The line without its end: tools and editors may end the last line of a file, or all lines, differently."""
        return self.text if self.text is None else words_of(self.text)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, with their ends."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def words_of(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


def rewritten(old: Sequence[Line[T]], new: Sequence[str], writer: T | None) -> list[Line[T]]:
    """Return the lines that replace others, each with who wrote it.

    What both have at the beginning and at the end was not touched. In between, a line keeps its writer if it says
    enough to be recognized. Nobody can tell which of several equal lines is new: such a line has no writer.

    Args:
        old: the lines before.
        new: the lines after.
        writer: who replaced them; None if it is not certain that the new lines are theirs.
    """
    words = [words_of(line) for line in new]
    first, last = _common([line.words for line in old], words)
    kept = _kept(old, words)
    writers = [line.writer for line in old[:first]]
    writers += [kept.get(line, writer) for line in words[first : len(words) - last]]
    writers += [line.writer for line in old[len(old) - last :]]
    for at, other in _exchangeable(old, words, first, last):
        if writers[at] != other:
            writers[at] = None
    return [Line(text, by) for text, by in zip(new, writers, strict=True)]


def _common(old: Sequence[str | None], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines two texts have in common at the beginning, and at the end after that."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    return first, last


def _kept(old: Sequence[Line[T]], new: Sequence[str]) -> dict[str, T | None]:
    """Return the writers of lines that may have been there before; None if which one it was is not certain."""
    olds, news = Counter(line.words for line in old), Counter(new)
    return {
        words: line.writer if olds[words] == 1 == news[words] and weight(words) >= TELLING else None
        for line in old
        if (words := line.words) is not None
    }


def _exchangeable(old: Sequence[Line[T]], new: Sequence[str], first: int, last: int) -> list[tuple[int, T | None]]:
    """Return lines before a stretch that was put in or taken out, each with who else may have written it.

    A stretch that ends as the lines before it do may as well have been put before these, or taken out there.
    """
    begin, come, gone = old[:first], new[first : len(new) - last], old[first : len(old) - last]
    if come and gone:
        return []
    found: list[tuple[int, T | None]] = []
    for at in range(1, min(first, max(len(come), len(gone))) + 1):
        if come and come[-at] == begin[-at].words:
            found.append((first - at, None))
        elif gone and gone[-at].words == begin[-at].words:
            found.append((first - at, gone[-at].writer))
        else:
            break
    return found
