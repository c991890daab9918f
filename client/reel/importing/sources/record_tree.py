"""The conversation in a file whose records name their predecessors."""

from collections.abc import Iterator

from reel.base.strict_json import Json, encode
from reel.importing.steps import Back
from reel.importing.values import digest

# The place before the first message.
START = ""


class RecordTree:
    """The records of a file, and the message that each one is or follows.

    A record that is no message has the place of its predecessor. A record whose predecessor was never written follows
    the last one.
    """

    def __init__(self) -> None:
        # The record before each one, and the ref of the message that each one is or follows.
        self._parents: dict[str, str] = {}
        self._places: dict[str, str] = {START: START}
        self._newest = START
        self._last = START
        # What each record says, to tell one that is repeated from another one with its id.
        self._contents: dict[str, int] = {}

    @property
    def newest(self) -> str:
        """The id of the newest record; empty before the first one."""
        return self._newest

    @property
    def has_messages(self) -> bool:
        """Whether the conversation has a message now."""
        return self._last != START

    def follow(self, parent: str) -> Iterator[Back]:
        """Go to the place of a record, after which the next message comes."""
        place = self._places.get(parent, self._last)
        if place != self._last:
            yield Back(place)
        self._last = place

    def add(self, record: str, parent: str, ref: str | None = None) -> None:
        """Add a record.

        Args:
            record: its id.
            parent: the id of its predecessor; empty for the first one.
            ref: the last message that it became; ``None`` if it became none.
        """
        self._parents[record] = parent if parent in self._places else self._newest
        self._places[record] = self._places.get(parent, self._last) if ref is None else ref
        self._newest = record
        if ref is not None:
            self._last = ref

    def say(self, record: str, parent: str, *, stays: bool) -> None:
        """Add a record that is a message of its own id; one that does not stay is left behind by what follows it."""
        self.add(record, parent, record)
        if not stays:
            self._places[record] = self._places.get(parent, START)

    def name(self, given: str, found: Json) -> str:
        """Return the id for a new record: another one if a different record has it; empty if it is repeated."""
        content = hash(str(found))
        if given and self._contents.setdefault(given, content) == content:
            return "" if given in self._places else given
        name = f"{given or 'record'}-{digest(encode(found, ascii_only=True))}"
        return "" if name in self._places else name

    def between(self, first: str, last: str) -> tuple[str, ...]:
        """Return the messages from a record to a later one on its path; none if the path does not lead there."""
        refs, at, seen = list[str](), last, set[str]()
        while at and at not in seen:
            seen.add(at)
            before = self._parents.get(at, START)
            if self._places[at] != self._places.get(before):
                refs.append(self._places[at])
            if at == first:
                return tuple(reversed(refs))
            at = before
        return ()
