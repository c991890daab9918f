"""Messages that are named by their numbers, such as ``12`` or ``12..20``."""

import re
from typing import NamedTuple

from reel.cli.arguments import UsageError
from reel.cli.terminal import seq_range
from reel.values import MAX_INTEGER

_RANGE = re.compile(r"#?(\d{1,16})|#?(\d{1,16})?\.\.#?(\d{1,16})?")


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
    return _RANGE.fullmatch(word) is not None and word != ".."


def parse_range(word: str) -> Range:
    """Return an argument as a range.

    Raises:
        UsageError: it is not a range.
    """
    found = _RANGE.fullmatch(word)
    if found is None or word == "..":
        raise UsageError(f"{word!r} is not a message or a range of messages, such as 12 or 12..20")
    if found[1]:
        return Range(int(found[1]), int(found[1]))
    return Range(int(found[2] or 0), int(found[3] or MAX_INTEGER))
