"""Determines where a record of Claude Code belongs in its conversation.

Each record names its predecessor, so a transcript is a tree. Most forks in it are not decisions of a person:
a response with several calls is written as one record for each block, and each result follows its own call. Such
records stay together. A fork is a step back only if it would abandon a prompt or another answer.
"""

from array import array
from collections.abc import Iterator

from reel.base.values import new_tuple
from reel.importing.id_tables import NamedIds
from reel.importing.steps import Back, Compacted, Kept, Middle, Said, Step
from reel.importing.tools.claude_code.elsewhere import Elsewhere
from reel.importing.tools.claude_code.records import Meaning, Record
from reel.importing.values import list_in, map_in, text_in

# The kind of a person's message, and of one that continues a message. Others have the hash of their answer's id.
_PROMPT, _JOINS = -1, -2
_POSITIVE = (1 << 63) - 1
# Represents the beginning of the conversation; and the place of what is no message, as of one left behind there.
_START = _NOWHERE = -1


class Thread:
    """One chain of records: the main conversation of a session, or that of a sub-agent.

    Args:
        elsewhere: the records of the session that are in other files.
    """

    def __init__(self, elsewhere: Elsewhere | None = None) -> None:
        self._elsewhere = elsewhere or Elsewhere()
        # Records have numbers. For each: the message that it is or follows; for a message, its kind and its place
        # in the conversation, or `_abandoned` if it is on another branch.
        self._records = NamedIds()
        self._anchors, self._kinds, self._places = array("i"), array("q"), array("i")
        # The messages of the conversation.
        self._path = array("i")
        # The id of the record in another file that the first message here follows, or an empty text.
        self._origin = ""
        # Records that are not messages and follow a record of another file, each with the id of that record.
        self._outside: dict[str, str] = {}
        # The answer that is being read, and the records between its parts.
        self._answer: Said | None = None
        self._answer_id = ""
        self._usage: Kept | None = None
        self._between: list[Step] = []
        # The messages that are kept when the conversation is compacted.
        self._preserved: tuple[int, ...] = ()
        # Whether they come before the summary.
        self._are_before = False

    def knows(self, uuid: str) -> bool:
        """Return whether a record belongs to this thread."""
        return self._records.find(uuid) is not None

    def follow(self, uuid: str, parent: str | None) -> None:
        """Register a record that is not a message but may have successors."""
        if not self.knows(uuid):
            outside = self._outside_of(parent)
            if outside:
                self._outside[uuid] = outside
            self._note(uuid, self._anchor_of(parent, outside))

    def join(self, name: str) -> None:
        """Register a foreign message at the end; the next record follows it."""
        self._append(self._note(name), _JOINS)

    def read(self, record: Record) -> list[Step]:
        """Process the next record, and return the steps that are complete."""
        found, meaning = record.found, record.meaning
        if record.unknown and meaning.kept is not None and record.kind != "system":
            self.follow(record.uuid, record.parent)
            return [meaning.kept]  # where it is, also within an answer
        if found.get("subtype") == "compact_boundary":
            return self._compact(record)
        if found.get("isCompactSummary") is True and meaning.said:
            return self._summarize(record)
        if meaning.said:
            return [*self._way_to(record), *self._take_messages(record.uuid, meaning)]
        self.follow(record.uuid, record.parent)
        return self.beside(*(step for step in (meaning.usage, meaning.kept) if step is not None))

    def beside(self, *steps: Step) -> list[Step]:
        """Return steps that are no records of the chain; none yet if they come after an answer that is being read."""
        if self._answer is None:
            return [*steps]
        self._between += steps
        return []

    def _compact(self, record: Record) -> list[Step]:
        """Process a record that announces a summary, and the records that are kept beside it."""
        details = map_in(record.found, "compactMetadata")
        segment = map_in(details, "preservedSegment")
        listed = list_in(map_in(details, "preservedMessages"), "uuids")
        complete = self.flush()
        self._note(record.uuid, self._tip)
        first, last = (self._place_of(text_in(segment, end)) for end in ("headUuid", "tailUuid"))
        numbers = dict.fromkeys(self._records.find(uuid) for uuid in listed if type(uuid) is str)
        self._preserved = tuple(kept for kept in numbers if kept is not None and self._places[kept] >= 0)
        if not self._preserved and first >= 0 and last >= 0:
            self._preserved = tuple(self._path[first : last + 1])
        anchors = (text_in(map_in(details, key), "anchorUuid") for key in ("preservedMessages", "preservedSegment"))
        self._are_before = record.uuid in anchors
        return complete

    def _summarize(self, record: Record) -> list[Step]:
        """Process a summary, which replaces the conversation before it."""
        if direction := text_in(map_in(record.found, "summarizeMetadata"), "direction"):
            self._are_before = direction == "from"
        complete = self.flush()
        self._go_to(_START)
        kept, self._preserved = self._preserved, ()
        names = tuple(map(self._records.name, kept))
        before, after = (names, ()) if self._are_before else ((), names)
        summary = self._note(record.uuid)
        for message in (*kept, summary) if self._are_before else (summary, *kept):
            self._append(message, _PROMPT if message == summary else self._kinds[message])
        # A record that names the summary as its predecessor follows the kept messages.
        self._anchors[summary] = self._tip
        self._are_before = False
        return [*complete, Compacted(record.meaning.said[0], after, before)]

    def flush(self) -> list[Step]:
        """Return the steps that waited for more parts of an answer."""
        if self._answer is None:
            return []
        complete = (
            [self._answer, *self._between] if self._usage is None else [self._answer, self._usage, *self._between]
        )
        self._answer, self._answer_id, self._usage, self._between = None, "", None, []
        return complete

    @property
    def _tip(self) -> int:
        return self._path[-1] if self._path else _START

    def _note(self, uuid: str, anchor: int | None = None) -> int:
        """Register a record with its message, its own or the one it follows; return its number."""
        number = self._records.add(uuid)
        if number == len(self._anchors):
            for column in (self._anchors, self._kinds, self._places):
                column.append(_NOWHERE)
        self._anchors[number] = number if anchor is None else anchor
        return number

    def _anchor_of(self, uuid: str | None, outside: str) -> int:
        """Return the message that a record is or follows.

        One in another file is before all messages here; if a record is unknown, it is the last message.
        """
        number = self._records.find(uuid) if uuid else None
        if number is None:
            return _START if outside or (uuid and self._elsewhere.has(uuid)) else self._tip
        return self._anchors[number]

    def _place_of(self, uuid: str) -> int:
        """Return the place in the conversation of the message that a record is or follows; negative if it has none."""
        number = self._records.find(uuid)
        anchor = _START if number is None else self._anchors[number]
        return anchor if anchor == _START else self._places[anchor]

    def _way_to(self, record: Record) -> list[Step]:
        """Go to where a record has its place; return the steps that say so, none if it continues the conversation."""
        parent, meaning = record.parent, record.meaning
        outside = self._outside_of(parent)
        middle: list[Step] = [Middle(outside)] if outside else []
        if not self._path:
            self._origin = outside
        is_first = parent == "" and not meaning.answer and not meaning.joins
        after = _START if is_first else self._anchor_of(parent, outside)
        if after == self._tip:
            return middle
        if self._continues(meaning, after):
            return []
        complete = self.flush()
        self._go_to(after)
        return [*complete, *(middle or [Back("" if after == _START else self._records.name(after))])]

    def _outside_of(self, parent: str | None) -> str:
        """Return the record of another file that one with this predecessor follows; empty if that is of this file."""
        if not parent or parent == self._origin:
            return parent or ""
        if self.knows(parent):
            return self._outside.get(parent, "")
        return self._elsewhere.message_of(parent) if self._path else parent

    def _take_messages(self, uuid: str, meaning: Meaning) -> list[Step]:
        self._append(self._note(uuid), _kind_of(meaning))
        if self._answer is not None and meaning.answer == self._answer_id:
            role, parts, metadata, sent, line = self._answer
            (said,) = meaning.said
            self._answer = new_tuple(Said, (role, parts + said.parts, {**metadata, **said.metadata}, sent, line))
            self._usage = larger(self._usage, meaning.usage)
            return []
        if self._answer is not None and meaning.joins:
            self._between += meaning.said
            return []
        complete = self.flush()
        if meaning.answer:
            (self._answer,), self._answer_id, self._usage = meaning.said, meaning.answer, meaning.usage
            return complete
        return [*complete, *meaning.said]

    def _append(self, message: int, kind: int) -> None:
        self._kinds[message] = kind
        self._places[message] = len(self._path)
        self._path.append(message)

    def _continues(self, record: Meaning, after: int) -> bool:
        """Return whether a record continues the conversation, rather than beginning a new branch."""
        if after == self._tip or (record.joins and not record.beside):
            return True
        place = after if after == _START else self._places[after]
        if place < 0:
            return False
        same = _kind_of(record) if record.answer else _JOINS
        left_behind = {self._kinds[message] for message in self._path[place + 1 :]} - {_JOINS, same}
        # Most often nothing is left to look for: a turn may have thousands of messages.
        return not left_behind or left_behind <= {*self._answers_up_to(place)}

    def _answers_up_to(self, place: int) -> Iterator[int]:
        """Yield the answers to the last prompt that end at a place or continue after it."""
        while place >= 0 and (kind := self._kinds[self._path[place]]) != _PROMPT:
            yield kind
            place -= 1

    def _go_to(self, message: int) -> None:
        """Make the path lead to a message, on any branch."""
        way: list[int] = []
        while message != _START and self._places[message] < 0:
            way.append(message)
            message = _abandoned(self._places[message])
        keep = 0 if message == _START else self._places[message] + 1
        for place in range(len(self._path) - 1, keep - 1, -1):
            left = self._path.pop()
            self._places[left] = _abandoned(self._path[place - 1] if place else _START)
        for message in reversed(way):
            self._append(message, self._kinds[message])


def _abandoned(message: int) -> int:
    """Return the place of a message on an abandoned branch, by the one that it follows; or that one, by the place."""
    return -2 - message


def _kind_of(record: Meaning) -> int:
    if record.answer:
        return hash(record.answer) & _POSITIVE
    return _JOINS if record.joins else _PROMPT


def larger(one: Kept | None, other: Kept | None) -> Kept | None:
    """Return the later state of a usage, which is written repeatedly while an answer arrives."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=_output)


def _output(usage: Kept) -> int:
    found = usage.data["usage"].get("output_tokens")
    return found if type(found) is int else 0
