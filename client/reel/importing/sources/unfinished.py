"""Answers that a tool has not finished: each is left for the next import, unless its program was killed."""

from time import time

from reel.importing.steps import Counts

# The rule for such an answer.
UNFINISHED = "answer that is being written"
# An answer that nobody has written to for so many milliseconds, an hour, will not be finished.
_LEFT = 3_600_000


def may_go_on(written: int) -> bool:
    """Return whether an answer may still be finished.

    Args:
        written: when its program last wrote, in milliseconds since the epoch.
    """
    return time() * 1000 - written < _LEFT


def postpone(counts: Counts, records: int = 1) -> None:
    """Count the records of an answer that is left for the next import, although its source may not change again."""
    counts.unfinished = True
    for _ in range(records):
        counts.ignore(UNFINISHED)
