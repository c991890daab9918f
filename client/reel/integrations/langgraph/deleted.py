"""What was deleted with a thread: a run of it may go on, and must not bring any of it back."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reel.integrations.langgraph.records import FullId


# A value of at most this many characters is stored again, rather than referenced.
SHORT = 24


class Deleted:
    """What was deleted last: checkpoints, messages and values."""

    def __init__(self) -> None:
        # The checkpoints, with those that a run which went on has put since.
        self._checkpoints: set[FullId] = set()
        # The ids of the messages, and the hashes of the values.
        self._messages: set[str] = set()
        self._values: set[int] = set()

    def add(self, checkpoints: Iterable[FullId], messages: Iterable[str], values: Iterable[str]) -> None:
        """Take what a thread had when it was deleted.

        What was deleted before is forgotten, unless the thread had a checkpoint of a run that went on since.

        Args:
            checkpoints: its checkpoints.
            messages: the ids of its messages.
            values: the texts of the values of its channels.
        """
        given = {*checkpoints}
        if self._checkpoints.isdisjoint(given):
            self._checkpoints, self._messages, self._values = set(), set(), set()
        self._checkpoints.update(given)
        self._messages.update(messages)
        self._values.update(map(hash, values))

    def has(self, checkpoint: FullId) -> bool:
        """Return whether a checkpoint was deleted, or was put by a run that went on."""
        return checkpoint in self._checkpoints

    def is_outlived(self, checkpoints: Iterable[FullId], there: Container[FullId]) -> bool:
        """Return whether a run that follows one of these checkpoints began before the thread was deleted.

        After that, a checkpoint which is not there was deleted, or such a run is yet to put it.

        Args:
            checkpoints: the checkpoints.
            there: those that the thread has.
        """
        return bool(self._checkpoints) and any(
            each in self._checkpoints or (each[1] != "" and each not in there) for each in checkpoints
        )

    def note(self, checkpoint: FullId) -> None:
        """Note a checkpoint that such a run has put."""
        self._checkpoints.add(checkpoint)

    def without(self, value: Any) -> Any:
        """Return a list without the messages that were deleted; another value as it is."""
        if type(value) is not list:
            return value
        return [each for each in value if getattr(each, "id", None) not in self._messages]

    def has_value(self, text: str) -> bool:
        """Return whether a value of some length was deleted."""
        return len(text) > SHORT and hash(text) in self._values
