"""Where a record of Claude Code belongs in its conversation.

Each record names the one that it follows, so a transcript is a tree. Most forks in it are not decisions of a person:
a response with several calls is written as one record for each block, and each result follows its own call. Such
records stay together. A fork is a step back only if it would leave a prompt behind, or another answer.
"""

from collections.abc import Iterator
from sys import intern

from reel.importing.claude_records import Record
from reel.importing.steps import Back, Compacted, Kept, Said, Step

# The kind of a message that a person wrote, and of one that joins what is said. Others have the id of their answer.
_PROMPT, _JOINS = "prompt", ""


class Thread:
    """One chain of records: the main conversation of a session, or that of a sub-agent."""

    def __init__(self) -> None:
        # For each record, the message that it is or follows; for each message, its kind; for each message on a branch
        # that was left, the one before it.
        self._anchors: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._before: dict[str, str] = {}
        # The messages of the conversation, and their places in it.
        self._path: list[str] = []
        self._places: dict[str, int] = {}
        # The answer that is being read, and what came between its parts.
        self._answer: Said | None = None
        self._answer_id = ""
        self._usage: Kept | None = None
        self._between: list[Step] = []
        # The messages that stay when the conversation is compacted.
        self._preserved: tuple[str, ...] = ()

    def knows(self, uuid: str) -> bool:
        """Return whether a record belongs to this thread."""
        return uuid in self._anchors

    def follow(self, uuid: str, parent: str | None) -> None:
        """Note a record that is not a message, which others may follow."""
        self._anchors.setdefault(uuid, self._anchors.get(parent or "", self._tip))

    def take(self, record: Record) -> Iterator[Step]:
        """Take the next record, and yield what is complete by now."""
        if record.said:
            after = self._place_after(record)
            if not self._continues(record, after):
                yield from self.flush()
                self._go_to(after)
                yield Back(after)
            yield from self._take_messages(record)
            return
        self.follow(record.uuid, record.parent)
        for kept in filter(None, (record.usage, record.kept)):
            if self._answer is None:
                yield kept
            else:
                self._between.append(kept)

    def compact(self, uuid: str, preserved: tuple[str, ...], ends: tuple[str, str]) -> Iterator[Step]:
        """Note that a summary comes next.

        Args:
            uuid: the record that says so.
            preserved: the records that stay, if it lists them.
            ends: else the first and the last of them, if it names these.
        """
        yield from self.flush()
        self._anchors[uuid] = self._tip
        first, last = (self._places.get(self._anchors.get(end, "")) for end in ends)
        self._preserved = tuple(kept for kept in preserved if kept in self._places)
        if not self._preserved and first is not None and last is not None:
            self._preserved = tuple(self._path[first : last + 1])

    def summarize(self, record: Record) -> Iterator[Step]:
        """Take a summary, which stands for all that was said before."""
        yield from self.flush()
        self._go_to("")
        yield Compacted(record.said[0], self._preserved)
        self._anchors[record.uuid] = record.uuid
        self._append(record.uuid, _PROMPT)
        for uuid in self._preserved:
            self._append(uuid, self._kinds[uuid])
        self._preserved = ()

    def flush(self) -> Iterator[Step]:
        """Yield what waits for more of an answer."""
        if self._answer is not None:
            yield self._answer
        if self._usage is not None:
            yield self._usage
        yield from self._between
        self._answer, self._answer_id, self._usage, self._between = None, "", None, []

    @property
    def _tip(self) -> str:
        return self._path[-1] if self._path else ""

    def _place_after(self, record: Record) -> str:
        """Return the message that a record follows: the last one if it is not known, because it was never written."""
        if record.parent == "" and not record.answer and not record.joins:
            return ""
        return self._anchors.get(record.parent or "", self._tip)

    def _take_messages(self, record: Record) -> Iterator[Step]:
        self._anchors[record.uuid] = record.uuid
        self._append(record.uuid, record.answer or (_JOINS if record.joins else _PROMPT))
        if self._answer is not None and record.answer == self._answer_id:
            metadata = {**self._answer.metadata, **record.said[0].metadata}
            self._answer = self._answer._replace(parts=self._answer.parts + record.said[0].parts, metadata=metadata)
            self._usage = _larger(self._usage, record.usage)
        elif record.answer:
            yield from self.flush()
            self._answer, self._answer_id, self._usage = record.said[0], record.answer, record.usage
        elif self._answer is not None and record.joins:
            self._between += record.said
        else:
            yield from self.flush()
            yield from record.said

    def _append(self, uuid: str, kind: str) -> None:
        self._kinds[uuid] = intern(kind)  # the records of an answer have copies of its id
        self._places[uuid] = len(self._path)
        self._path.append(uuid)

    def _continues(self, record: Record, after: str) -> bool:
        """Return whether a record goes on with the conversation, and does not begin another branch of it."""
        if after == self._tip or record.joins:
            return True
        place = self._places.get(after)
        if place is None:
            return False
        left_behind = {self._kinds[uuid] for uuid in self._path[place + 1 :]}
        return left_behind <= {_JOINS, record.answer or _JOINS, *self._answers_up_to(place)}

    def _answers_up_to(self, place: int) -> Iterator[str]:
        """Yield the answers to the last prompt that end at a place or go on after it."""
        while place >= 0 and (kind := self._kinds[self._path[place]]) != _PROMPT:
            yield kind
            place -= 1

    def _go_to(self, message: str) -> None:
        """Make the path lead to a message, on whichever branch it is."""
        way: list[str] = []
        while message and message not in self._places:
            way.append(message)
            message = self._before[message]
        keep = self._places[message] + 1 if message else 0
        for place in range(len(self._path) - 1, keep - 1, -1):
            left = self._path.pop()
            del self._places[left]
            self._before[left] = self._path[place - 1] if place else ""
        for uuid in reversed(way):
            self._append(uuid, self._kinds[uuid])


def _larger(one: Kept | None, other: Kept | None) -> Kept | None:
    """Return the later state of a usage: it is written again while an answer arrives."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=_output)


def _output(usage: Kept) -> int:
    found = usage.data["usage"].get("output_tokens")
    return found if type(found) is int else 0
