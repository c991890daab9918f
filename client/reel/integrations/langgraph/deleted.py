"""What was deleted with a thread: a run of it may go on, and must not bring any of it back."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, TypeAlias

# The namespace of a checkpoint, and its id.
Place: TypeAlias = tuple[str, str]
# A value of at most this many characters is stored again, rather than referenced.
SHORT = 24


class Deleted:
    """What was deleted last: checkpoints, messages and values."""

    def __init__(self) -> None:
        # The checkpoints, with those that a run which went on has put since.
        self._places: set[Place] = set()
        # The ids of the messages, and the hashes of the values.
        self._messages: set[str] = set()
        self._values: set[int] = set()

    def add(self, checkpoints: Iterable[Place], messages: Iterable[str], values: Iterable[str]) -> None:
        """Take what a thread had when it was deleted.

        What was deleted before is forgotten, unless the thread had a checkpoint of a run that went on since.

        Args:
            checkpoints: its checkpoints.
            messages: the ids of its messages.
            values: the texts of the values of its channels.
        """
        places = {*checkpoints}
        if self._places.isdisjoint(places):
            self._places, self._messages, self._values = set(), set(), set()
        self._places.update(places)
        self._messages.update(messages)
        self._values.update(map(hash, values))

    def has(self, place: Place) -> bool:
        """Return whether a checkpoint was deleted, or was put by a run that went on."""
        return place in self._places

    def is_outlived(self, places: Iterable[Place], there: Container[Place]) -> bool:
        """Return whether a run that follows one of these checkpoints began before the thread was deleted.

        After that, a checkpoint which is not there was deleted, or such a run is yet to put it.

        Args:
            places: the checkpoints.
            there: those that the thread has.
        """
        return bool(self._places) and any(
            place in self._places or (place[1] != "" and place not in there) for place in places
        )

    def note(self, place: Place) -> None:
        """Note a checkpoint that such a run has put."""
        self._places.add(place)

    def without(self, value: Any) -> Any:
        """Return a list without the messages that were deleted; another value as it is."""
        if type(value) is not list:
            return value
        return [each for each in value if getattr(each, "id", None) not in self._messages]

    def has_value(self, text: str) -> bool:
        """Return whether a value of some length was deleted."""
        return len(text) > SHORT and hash(text) in self._values
