"""A buffer as an editor keeps it from patches of lines; and the buffer that a conversation should have."""

from collections.abc import Iterable
from typing import Any

from reel.reading.layout import Layout, Section, draft_section, prompt_section, waiting_section

# What a buffer has: lines, folds, headings, marks.
State = tuple[list[str], list[Any], list[Any], list[Any]]


class Buffer:
    """Lines, and what is at rows of them; nothing is known of messages."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.folds: list[list[int]] = []
        self.headings: list[list[Any]] = []
        self.marks: list[list[Any]] = []

    def apply(self, patch: dict[str, Any]) -> None:
        """Replace rows, drop what was at them, and move what is below them."""
        first, last = patch["replace"]
        assert 0 <= first <= last <= len(self.lines)
        self.lines[first:last] = patch["lines"]
        more = len(patch["lines"]) - (last - first)
        self.folds = sorted([*self._moved(self.folds, first, last, more, 2), *map(list, patch["folds"])])
        self.headings = sorted([*self._moved(self.headings, first, last, more, 1), *map(list, patch["headings"])])
        self.marks = sorted([*self._moved(self.marks, first, last, more, 1), *map(list, patch["marks"])])

        assert all(end < len(self.lines) for _, end in self.folds)

    @staticmethod
    def _moved(items: list[Any], first: int, last: int, more: int, rows: int) -> list[Any]:
        """Return what stays, in its new rows; the first values of an item are its rows."""
        above = [item for item in items if item[0] < first]
        below = [item for item in items if item[0] >= last]
        return [*above, *([*(row + more for row in item[:rows]), *item[rows:]] for item in below)]

    @property
    def state(self) -> State:
        """What it has."""
        return self.lines, self.folds, self.headings, self.marks


def laid_out(
    system: str | None, messages: Iterable[Any], drafts: Iterable[tuple[str | None, str]], waits: str = ""
) -> State:
    """Return what the buffer of a conversation should have."""
    layout = Layout()
    sections: list[Section] = [] if system is None else [prompt_section(system)]
    sections += [layout.message(message) for message in messages]
    sections += [draft_section(client, text) for client, text in drafts]
    sections += [waiting_section(waits)] if waits else []
    found: State = ([], [], [], [])
    for lines, folds, headings, marks in sections:
        row = len(found[0])
        found[1].extend([row + start, row + end] for start, end in folds)
        found[2].extend([row + each.row, *each[1:]] for each in headings)
        found[3].extend([row + at, text] for at, text in marks)
        found[0].extend(lines)
    return found
