"""What rendering hands out and takes back, so that a history is rendered once and then only what is new of it."""

from collections.abc import Sequence

from reeld.core.events import Entry
from reeld.formats.repair_state import Memory
from reeld.formats.report import Change
from reeld.formats.roll import Roll


class RenderState:
    """The settled turns of one conversation in one format, for one model.

    It belongs to one caller at a time: rendering extends it in place. What it knows of may not be known any more
    (after a rewind, say); ``covers`` tells.

    Args:
        format: the format that it is in.
        model: the model that it is for.
        marks: how many cache marks there were for the history.
    """

    __slots__ = ("count", "format", "last", "marks", "marks_left", "memory", "model", "report", "roll")

    def __init__(self, format: str, model: str | None, marks: int) -> None:  # noqa: A002 - the protocol's word
        self.format = format
        self.model = model
        self.marks = self.marks_left = marks
        self.memory = Memory()
        self.roll = Roll()
        self.report: list[Change] = []
        # Of the entries that it covers: how many, and the id of the last.
        self.count = 0
        self.last = 0

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.roll.data) + len(self.roll.digests) + 200 * (len(self.roll.spans) + len(self.report))

    def covers(self, entries: Sequence[Entry]) -> bool:
        """Tell whether what it knows is a beginning of these.

        An event's id says all that stands before it, because what an event stands on never changes.
        """
        return self.count == 0 or (self.count <= len(entries) and entries[self.count - 1].id == self.last)

    def fits(self, format: str, model: str | None, marks: int) -> bool:  # noqa: A002 - the protocol's word
        """Tell whether it is in this format and for this model."""
        return (self.format, self.model, self.marks) == (format, model, marks)
