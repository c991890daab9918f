"""Tells which records of a source were stored now, and which the log had already.

A reader counts a record when it reads it, and yields the steps that become of several: of an answer that is in three
records, and of a title that is in none. So a record is counted as the last step is that does not begin after it.
"""

from bisect import bisect_left, bisect_right

from reel.importing.steps import Compacted, Counts, Kept, Said, Step

# What becomes of the records of a step: they are stored, or known, or ignored by the rule of this name.
STORED, KNOWN = "", "known"
_COUNTED = (Said, Kept, Compacted)


class Accounting:
    """Counts the records of a source that is being read."""

    def __init__(self) -> None:
        # What became of the last step, if there was one, and its line, if it has one.
        self._last: str | None = None
        self._line = -1

    def take(self, counts: Counts, step: Step, outcome: str) -> None:
        """Count the records up to a step.

        Args:
            counts: the counts of the source; a reader may begin new ones.
            step: the step, of which nothing becomes if it only says where the conversation goes on.
            outcome: what became of it.
        """
        if isinstance(step, _COUNTED):
            line = (step.summary if isinstance(step, Compacted) else step).line
            if counts.line:
                before = bisect_left(counts.lines, line)
                self._count(counts, before, outcome if self._last is None else self._last)
            else:  # the reader knows no lines: it yields a step before it counts the next record
                self._count(counts, len(counts.lines), outcome)
            self._last, self._line = outcome, line if counts.line else -1

    def break_off(self, counts: Counts) -> None:
        """Count the records that were read after that of the last step as not read: nothing became of them."""
        lost = len(counts.lines) - bisect_right(counts.lines, self._line)
        counts.read -= lost
        counts.mapped -= lost
        del counts.lines[len(counts.lines) - lost :]

    def end(self, counts: Counts) -> None:
        """Count the records after the last step."""
        self._count(counts, len(counts.lines), self._last or STORED)

    def _count(self, counts: Counts, number: int, outcome: str) -> None:
        if not number:
            return
        del counts.lines[:number]
        if outcome == KNOWN:
            counts.know(number)
        elif outcome != STORED:
            counts.mapped -= number
            counts.ignored[outcome] += number
