"""What is redacted: the new form of each event, and what changes beside the events, as a plan has found it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.core.redaction import Redacted
from reeld.store.erasures import Change, Changes, Decision, KeptKey, Labels, Outdated

_id = attrgetter("id")
# The kind, the content and the data of an event.
Text: TypeAlias = tuple[str, str | None, str | None]


class RedactedEvent(NamedTuple):
    """An event to redact, its place, and its new form."""

    id: int
    owner: int
    seq: int
    kind: str
    content: str | None
    data_json: str | None
    made: Redacted

    @property
    def change(self) -> Change:
        """The change to stage."""
        return Change(self.id, self.made.content, self.made.data_json, self.made.ref)

    @property
    def text(self) -> Text:
        """Its new text in the search index."""
        return self.kind, self.made.content, self.made.data_json


class Redactions(NamedTuple):
    """The plan of a redaction.

    Args:
        found: the events, in the order of their ids.
        affected: the rows of all agents whose past has one of them, or whose title or tags change.
        labels: the titles and tags that change.
        keys: the keys that change.
        milestones: those that are invalid.
    """

    found: list[RedactedEvent]
    affected: set[int]
    labels: list[Labels]
    keys: list[KeptKey]
    milestones: Outdated | None

    @property
    def changes(self) -> Changes[RedactedEvent]:
        """The new form of the events."""
        return Changes(self.found, attrgetter("change"))

    @property
    def texts(self) -> Mapping[int, Text]:
        """Their new texts in the search index, by their ids."""
        return _Texts(self.found)

    def decision(self, erasure: int = 0) -> Decision:
        """Return what decides the erasure with a number."""
        return Decision(erasure, len(self.found), self.labels, self.keys, milestones=self.milestones)


class _Texts(Mapping[int, Text]):
    """The new texts of events, by their ids, made when they are needed: there may be a million.

    Args:
        found: the events, in the order of their ids.
    """

    def __init__(self, found: Sequence[RedactedEvent]) -> None:
        self._found = found

    def __getitem__(self, event: int) -> Text:
        index = bisect_left(self._found, event, key=_id)
        if index < len(self._found) and self._found[index].id == event:
            return self._found[index].text
        raise KeyError(event)

    def __iter__(self) -> Iterator[int]:
        return map(_id, self._found)

    def __len__(self) -> int:
        return len(self._found)
