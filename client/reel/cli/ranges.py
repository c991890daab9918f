"""Messages that are named by their positions, such as ``12``, ``12..20`` or ``@~2..``."""

from collections.abc import Callable
from typing import NamedTuple

from reel.cli.arguments import UsageError
from reel.cli.positions import FromEnd, parse_position
from reel.cli.terminal import seq_range
from reel.values import MAX_INTEGER

_DOTS = ".."


class Range(NamedTuple):
    """The first and the last seq."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.last == MAX_INTEGER:
            return f"after #{self.first - 1}"
        return seq_range(self.first, self.last)


def is_range(word: str) -> bool:
    """Return whether an argument has the form of a range."""
    return word != _DOTS and all(_is_end(end, open_end=_DOTS in word) for end in word.split(_DOTS, 1))


def _is_end(word: str, *, open_end: bool) -> bool:
    return (open_end and not word) or parse_position(word) is not None


def parse_range(word: str, resolve: Callable[[int | FromEnd], int]) -> Range:
    """Return an argument as a range.

    Args:
        word: the argument.
        resolve: returns the seq of a position.

    Raises:
        UsageError: it is not a range.
    """
    if not is_range(word):
        raise UsageError(f"{word!r} is not a message or a range of messages, such as 12 or 12..20, or @~2..@last")
    ends = [resolve(end) if (end := parse_position(part)) is not None else None for part in word.split(_DOTS, 1)]
    first, last = (ends[0], ends[0]) if len(ends) == 1 else ends
    return Range(first or 0, MAX_INTEGER if last is None else last)
