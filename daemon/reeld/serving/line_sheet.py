"""What a subscriber to lines has in its buffer, and the patches that bring it up to date; pure.

A buffer has the system prompt, the messages, the drafts of others, and what the conversation waits for, in this order,
each as a section of :mod:`reel.reading.layout`. Of a message only its id, its seq and the row at which it ends are
kept; of a draft, its text.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.reading.layout import (
    Layout,
    Section,
    calls_and_results,
    draft_section,
    prompt_section,
    text_section,
    waiting_section,
)
from reel.reading.questions import question_in
from reel.said.messages import Message

# The most lines of a patch, and characters of its lines unless it has only one.
MOST_LINES, MOST_CHARACTERS = 500, 1 << 17
# The calls and results that are remembered, of 2 KB each at most; a result that is further from its call does not name
# it, and one that is further from an earlier result is not marked.
_REMEMBERED = 2000
# The id of a call, and its tool; ``None`` for a result.
CallOrResult: TypeAlias = tuple[str, str | None]


class Patch(NamedTuple):
    """Lines that replace others.

    Args:
        first: the first row that is replaced.
        last: the row behind the last one that is replaced.
        section: what is there instead; its folds, headings and marks have rows of the buffer, and a fold that began in
            an earlier patch comes with its last line.
    """

    first: int
    last: int
    section: Section

    def fields(self) -> dict[str, Any]:
        """Return it as the protocol has it."""
        return {"replace": [self.first, self.last], **self.section._asdict()}


class _Late(NamedTuple):
    """A message that is shown before those that precede it: its id, its seq, its rows, its calls and its results."""

    event_id: int
    seq: int
    rows: int
    known: list[CallOrResult]


class _Draft(NamedTuple):
    client: str | None
    text: str
    rows: int


class Sheet:
    """The buffer of a subscriber. Each method returns the patches that carry the change out."""

    def __init__(self) -> None:
        self._layout = Layout()
        # The rows of the prompt, and its hash: it may be large.
        self._prompt: tuple[int, int | None] = (0, None)
        # Of each message: its id, its seq, and the rows of all messages up to it.
        self._ids, self._seqs, self._ends = array("Q"), array("Q"), array("Q")
        # The newest calls and results, each with the number of its message.
        self._known: list[tuple[int, CallOrResult]] = []
        self._drafts: dict[int, _Draft] = {}
        # The rows of what the conversation waits for, and the words.
        self._waiting: tuple[int, str] = (0, "")
        # Whether it may wait for something else after the messages that came since these words.
        self.may_wait = False
        # The newest messages, until those before them are there.
        self._late: list[_Late] = []

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return len(self._ids)

    @property
    def seq(self) -> int:
        """The seq of the last message, 0 if there is none."""
        return self._seqs[-1] if self._seqs else 0

    @property
    def end(self) -> int:
        """The row behind the messages, and before the newest ones if these came first."""
        return self._row(len(self._ids))

    @property
    def _last(self) -> int:
        """The row behind all messages."""
        return self.end + sum(each.rows for each in self._late)

    @property
    def missing(self) -> float:
        """Up to which seq, exclusive, messages are missing."""
        return self._late[0].seq if self._late else math.inf

    @property
    def writers(self) -> list[int]:
        """The connections that have a draft."""
        return list(self._drafts)

    def _row(self, index: int) -> int:
        """Return the row at which the message with an index begins."""
        return self._prompt[0] + (self._ends[index - 1] if index else 0)

    def shared(self, has: Callable[[int], bool]) -> int:
        """Return how many leading messages another conversation has as well.

        Args:
            has: whether it has the message with an id; if so, it has all those before it as well.
        """
        return bisect_left(self._ids, True, key=lambda each: not has(each))

    def id_of(self, index: int) -> int:
        """Return the id of a message."""
        return self._ids[index]

    def keep(self, count: int) -> Iterator[Patch]:
        """Remove all messages but the first ones."""
        first, last = self._row(count), self._last
        self._late.clear()
        for kept in (self._ids, self._seqs, self._ends):
            del kept[count:]
        if self._known and self._known[-1][0] >= count:
            self._known = [each for each in self._known if each[0] < count]
            self._recall()
        return patches(first, last, ())

    def prompt(self, text: str | None) -> Iterator[Patch]:
        """Replace the system prompt."""
        rows, known = self._prompt
        new = None if text is None else hash(text)
        if new == known:
            return iter(())
        sections = [] if text is None else [prompt_section(text)]
        self._prompt = (sum(len(section.lines) for section in sections), new)
        return patches(0, rows, sections)

    def waiting(self, words: str) -> Iterator[Patch]:
        """Show what the conversation waits for; with no words, nothing."""
        rows, known = self._waiting
        self.may_wait = False
        if words == known:
            return iter(())
        first = self._last + sum(each.rows for each in self._drafts.values())
        sections = [waiting_section(words)] if words else []
        self._waiting = (sum(len(section.lines) for section in sections), words)
        return patches(first, first + rows, sections)

    def append(self, event_id: int, message: Message) -> Section:
        """Append a message, and return its section; the rows of several are patched together, from :attr:`end` on."""
        made = self._layout.message(message)
        self.may_wait |= bool(self._waiting[1]) or any(map(question_in, message["content"]))
        self._note(event_id, message["seq"], len(made.lines), calls_and_results(message["content"]))
        return made

    def begin_at_end(self, newest: Iterable[tuple[int, Message]]) -> list[Section]:
        """Return the sections of the newest messages of a conversation, of which nothing is there yet.

        Those up to the last result whose call is not among them are left out: that call would have to be read first.

        Args:
            newest: their ids and the messages.
        """
        layout, looked_at, sections = Layout(), Layout(), list[Section]()
        self.may_wait = True
        for event_id, message in newest:
            section = layout.message(message)
            if all(each.tool for each in looked_at.blocks(message["content"]) if each.kind in ("result", "error")):
                sections.append(section)
                known = list(calls_and_results(message["content"]))
                self._late.append(_Late(event_id, message["seq"], len(section.lines), known))
            else:
                self._late, sections = [], []
        return sections

    def join(self) -> None:
        """Take note that no messages are missing."""
        for event_id, seq, rows, known in self._late:
            for each in known:
                self._layout.note(*each)
            self._note(event_id, seq, rows, known)
        self._late.clear()

    def _note(self, event_id: int, seq: int, rows: int, known: Iterable[CallOrResult]) -> None:
        self._remember(known)
        self._ends.append((self._ends[-1] if self._ends else 0) + rows)
        self._ids.append(event_id)
        self._seqs.append(seq)

    def _remember(self, known: Iterable[CallOrResult]) -> None:
        self._known += [(self.messages, each) for each in known]
        if len(self._known) > 2 * _REMEMBERED:
            del self._known[:-_REMEMBERED]
            self._recall()

    def _recall(self) -> None:
        """Let the layout know the calls and results that are remembered, and no others."""
        self._layout = Layout()
        for _, each in self._known:
            self._layout.note(*each)

    def settle(self, ended: Container[int]) -> tuple[int, list[Section]]:
        """Forget the drafts that have ended: their messages take their place.

        Args:
            ended: their connections.

        Returns:
            How many rows below the messages are replaced, and the sections of the other drafts in them.
        """
        drafts = list(self._drafts)
        count = max((number for number, each in enumerate(drafts, 1) if each in ended), default=0)
        replaced = {each: self._drafts[each] for each in drafts[:count]}
        stay = {each: draft for each, draft in replaced.items() if each not in ended}
        rows = sum(draft.rows for draft in replaced.values())
        self._drafts = stay | {each: self._drafts[each] for each in drafts[count:]}
        return rows, [draft_section(draft.client, draft.text) for draft in stay.values()]

    def draft(self, connection: int, client: str | None, text: str) -> Iterator[Patch]:
        """Show what another connection is writing; an empty text ends its draft."""
        known = self._drafts.get(connection)
        first = self._last
        for number, each in self._drafts.items():
            if number == connection:
                break
            first += each.rows
        if not text:
            self._drafts.pop(connection, None)
            return patches(first, first + known.rows, ()) if known else iter(())
        if known is None or known.client != client or not text.startswith(known.text):
            kept, made = 0, draft_section(client, text)
        else:  # its last line may go on, and the blank line below it comes again
            kept, made = known.rows - 2, text_section(text[known.text.rfind("\n") + 1 :])
        self._drafts[connection] = _Draft(client, text, kept + len(made.lines))
        return patches(first + kept, first + (known.rows if known else 0), [made])


def patches(first: int, last: int, sections: Iterable[Section]) -> Iterator[Patch]:
    """Yield the patches that replace rows with sections.

    Args:
        first: the first of these rows.
        last: the row behind the last of them.
        sections: what is there instead.
    """
    held, size = Section([], [], [], []), 0
    for section in sections:
        begin = first + len(held.lines)
        for part in _parts(section):
            more = sum(map(len, part.lines))
            if held.lines and (len(held.lines) + len(part.lines) > MOST_LINES or size + more > MOST_CHARACTERS):
                yield Patch(first, last, held)
                first += len(held.lines)
                last, held, size = first, Section([], [], [], []), 0
            size += more
            held.extend(part, begin)
    if held.lines or last > first:
        yield Patch(first, last, held)


def _parts(section: Section) -> Iterator[Section]:
    """Yield parts of a section that fit into a patch; rows stay those of the section."""
    start = 0
    while start < len(section.lines):
        stop = _stop(section.lines, start)
        yield section if stop - start == len(section.lines) else _part(section, start, stop)
        start = stop


def _stop(lines: Sequence[str], start: int) -> int:
    """Return the end of the lines that fit into a patch, at least one."""
    room = MOST_CHARACTERS - len(lines[start])
    for row in range(start + 1, min(start + MOST_LINES, len(lines))):
        room -= len(lines[row])
        if room < 0:
            return row
    return min(start + MOST_LINES, len(lines))


def _part(section: Section, start: int, stop: int) -> Section:
    folds = section.folds[_between(section.folds, start, stop, lambda fold: fold[1])]
    headings = section.headings[_between(section.headings, start, stop, lambda heading: heading.row)]
    marks = section.marks[_between(section.marks, start, stop, lambda mark: mark[0])]
    return Section(section.lines[start:stop], folds, headings, marks)


def _between(items: Sequence[Any], start: int, stop: int, row: Callable[[Any], int]) -> slice:
    """Return which of some items, which are in order, are in these rows."""
    return slice(bisect_left(items, start, key=row), bisect_left(items, stop, key=row))
