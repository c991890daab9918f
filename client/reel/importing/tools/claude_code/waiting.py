"""Holds back records of Claude Code that were written before the ones that they follow.

Some versions write a result, or an attachment, a line or two before the record that it names as its predecessor. Read
in the order of the file, it would take a place at the end, and what comes next would look like a step back. So such a
record waits, with all that follows in the file, until its predecessor comes. Predecessors that never come are usual as
well (a file was trimmed): a few records later, the file's own order counts.
"""

from collections.abc import Callable, Iterator

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.tools.claude_code.records import parent_of
from reel.importing.values import text_in

# The number of records among which a predecessor is looked for; real files need three. They are in memory.
_MOST = 32


class Line(NamedTuple):
    """A record with its number in the file."""

    found: Json
    number: int


class Waiting:
    """The records that wait for a predecessor, by their ids, in the order of the file.

    Args:
        knows: returns whether the record with an id was read.
    """

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._lines: dict[str, Line] = {}

    def has(self, uuid: str) -> bool:
        """Return whether a record with this id waits."""
        return uuid in self._lines

    def take(self, line: Line) -> Iterator[Line]:
        """Yield the records that can be read, now that one more is there; each is to be read before the next."""
        if not self._lines and self._can_be_read(parent_of(line.found)):  # as nearly all
            yield line
            return
        self._lines[text_in(line.found, "uuid")] = line
        yield from self._ready(most=_MOST)

    def end(self) -> Iterator[Line]:
        """Yield all records that are left, as no more will come."""
        yield from self._ready(most=0)

    def _ready(self, most: int) -> Iterator[Line]:
        while self._lines:
            chain = self._chain(next(iter(self._lines)))
            parent = parent_of(self._lines[chain[-1]].found)
            if not self._can_be_read(parent) and len(self._lines) <= most:
                return
            for uuid in reversed(chain):
                yield self._lines.pop(uuid)

    def _can_be_read(self, parent: str | None) -> bool:
        """Return whether a record with this predecessor can be read: it has none, or that one is here."""
        return not parent or parent in self._lines or self._knows(parent)

    def _chain(self, uuid: str) -> list[str]:
        """Return a record that waits and those among the others that precede it, the first of them last."""
        chain = [uuid]
        while (parent := parent_of(self._lines[chain[-1]].found)) in self._lines and parent not in chain:
            chain.append(parent)
        return chain
