"""Whether a message is still in its conversation, and what took it out, from the log that follows it."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.log_tree import parent_of, place_of
from reel.said.kinds import NODE_KINDS, tip_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reel.reading.log_tree import Place
    from reel.said.messages import Event

_WORDS = {"rewind": "rewound", "restore": "undone", "clear": "cleared"}


class Standing:
    """Whether a message is still in its conversation.

    Args:
        place: the message.
    """

    def __init__(self, place: Place) -> None:
        # The message and what followed it, on any branch.
        self._after = {place}
        # The events after which the conversation had it.
        self._had = {place[1]}
        # The event that took it out, with its kind; None if the conversation has it.
        self.gone: tuple[int, str] | None = None

    def add(self, events: Iterable[Event]) -> None:
        """Take the next events of the log, from the one after the message."""
        for event in events:
            place, parent = place_of(event), parent_of(event)
            if event["kind"] in NODE_KINDS and parent in self._after:
                self._after.add(place)
            if tip_after(place, event["kind"], parent) in self._after:
                self._had.add(event["seq"])
                self.gone = None
            elif self.gone is None:
                self.gone = event["seq"], event["kind"]

    def had_at(self, seq: int) -> bool:
        """Return whether the conversation had it after an event."""
        return seq in self._had

    @property
    def words(self) -> str:
        """What became of it, for people; empty if the conversation has it."""
        if self.gone is None:
            return ""
        seq, kind = self.gone
        return f"{_WORDS.get(kind, 'replaced')} by #{seq}"
