"""The current conversation of an agent: a list of entries, kept up to date by folding each event as it commits.

Only the newest entries are in memory, as many as there is room for. A milestone (:mod:`reeld.core.milestones`)
summarizes the earlier ones: how many there are, which calls are open. :mod:`reeld.core.reading` reads them.

Ids ascend along the path from the root to the tip, because a parent is always older than its child (see
:mod:`reeld.core.tree`). So the list is cut and searched by id, and a position in it is a node's id.

*Live equals replayed*: the fold gives the same conversation as a walk through the log. The property machine in
``tests/reeld/core/test_machine.py`` compares both with a third model after every command, with a few entries in memory
and with all of them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.values import new_tuple
from reel.said.kinds import CONVERSATION, INERT, ROLES
from reeld.core.events import ENTRY_SIZE, Entry, Event, Mark, Node, is_late, label_of, size_in_memory, system_of
from reeld.core.milestones import MAX_OPEN_CALLS, STEP, Extent, Foundation, Milestone
from reeld.core.open_calls import OpenCall, OpenCalls

_id, _seq = attrgetter("id"), attrgetter("seq")


class Branch(NamedTuple):
    """A state to take over that branches off a conversation at a node in memory, with its nodes after that one.

    If they share nothing, ``base`` is ``None``, and ``nodes`` has the whole state.
    """

    base: int | None
    nodes: Sequence[Node] = ()


class Replacement(NamedTuple):
    """A state to take over that was read from the log, and how long a prefix the conversation shares with it."""

    conversation: "Conversation"
    kept: Extent


Takeover: TypeAlias = Branch | Replacement


class Conversation:
    """Entries, marks and open calls from the root to the tip.

    Args:
        nodes: what is in memory, from the oldest to the newest.
        foundation: what precedes these; ``None`` if nothing does.
        step: how many nodes there are from one milestone to the next.
    """

    __slots__ = (
        "_answered",
        "_new",
        "_prompts",
        "_since",
        "_step",
        "base",
        "entries",
        "marks",
        "message_count",
        "milestones",
        "open_calls",
        "size",
    )

    def __init__(self, nodes: Iterable[Node] = (), foundation: Foundation | None = None, *, step: int = STEP) -> None:
        # The milestone before the entries in memory; ``None`` if nothing is before them.
        self.base: Milestone | None = None
        self.entries: list[Entry] = []
        # All marks: they are few and small.
        self.marks: list[Mark] = []
        self.message_count = 0
        self.open_calls = OpenCalls()
        # The milestones at entries in memory.
        self.milestones: list[Milestone] = []
        # About how many bytes the entries take.
        self.size = 0
        self._step = step
        # Nodes after the newest milestone.
        self._since = 0
        # Milestones that nobody has taken yet.
        self._new: list[Milestone] = []
        # The newest system event before the entries in memory, and those among them.
        self._prompts: list[Entry] = []
        # The calls that the results of an entry answered, by the entry's id: cutting the entry off opens them again.
        self._answered: dict[int, list[OpenCall | None]] = {}
        if foundation is not None:
            self.base, self.marks = foundation.milestone, foundation.marks[:]
            self._prompts = [] if foundation.prompt is None else [foundation.prompt]
            self.message_count = self.base.extent.messages
            self.open_calls = OpenCalls(self.base.open_calls)
        for node in nodes:
            self.append(node)

    def copy(self) -> "Conversation":
        """Return a copy that does not change with this one."""
        twin = Conversation(step=self._step)
        twin.become(self)
        return twin

    def prefix(self, tip: int | None) -> "Conversation":
        """Return a copy of the prefix with this tip, which :meth:`has` has found."""
        made = self.copy()
        made.cut(tip)
        return made

    def become(self, other: "Conversation") -> None:
        """Become a copy of another conversation."""
        self.base, self.message_count, self.size = other.base, other.message_count, other.size
        self.entries, self.marks, self.milestones = other.entries[:], other.marks[:], other.milestones[:]
        self.open_calls = other.open_calls.copy()
        self._since, self._new, self._prompts = other._since, other._new[:], other._prompts[:]
        self._answered = dict(other._answered)

    @property
    def tip(self) -> int | None:
        """The newest node's id; ``None`` if there is no node."""
        newest = 0 if self.base is None else self.base.id
        if self.entries:
            newest = self.entries[-1].id
        if self.marks and self.marks[-1].id > newest:
            newest = self.marks[-1].id
        return newest or None

    @property
    def extent(self) -> Extent:
        """Its length."""
        before = 0 if self.base is None else self.base.extent.records
        return Extent(before + len(self.entries), self.message_count)

    @property
    def prompt(self) -> Entry | None:
        """The newest system event, even if it removed the system prompt."""
        return self._prompts[-1] if self._prompts else None

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return system_of(self.prompt)

    @property
    def ready(self) -> bool:
        """Whether a model has something to answer: the messages end with a user's or a tool's."""
        speaker = self._speaker
        return speaker is not None and ROLES[speaker] != "assistant"

    @property
    def _speaker(self) -> str | None:
        """The kind of the message that the rendering ends with: the newest, or a user's that an answer came behind."""
        newest, base = self._newest_message, self.base
        if newest is not None and newest.kind == "assistant" and newest.tools is None and is_late(newest):
            return "user"
        return newest.kind if newest is not None else None if base is None else base.speaker

    @property
    def _newest_message(self) -> Entry | None:
        """The newest entry in memory that is a message."""
        return next((entry for entry in reversed(self.entries) if entry.message is not None), None)

    @property
    def newest_seq(self) -> int:
        """The seq of its newest record; 0 if it is empty."""
        if self.entries:
            return self.entries[-1].seq
        return 0 if self.base is None else self.base.seq

    @property
    def sent(self) -> int | None:
        """The original time of the newest message, if it was imported."""
        newest = self._newest_message
        return None if newest is None or newest.origin is None else newest.origin.sent

    def has(self, node_id: int | None) -> bool:
        """Return whether the state with this tip is a prefix of this one, and can be reached without reading."""
        if node_id is None:
            return True
        if self.base is not None and node_id <= self.base.id:
            return node_id == self.base.id
        for nodes in (self.entries, self.marks):
            index = bisect_right(nodes, node_id, key=_id)
            if index and nodes[index - 1].id == node_id:
                return True
        return False

    def entry_at(self, seq: int) -> Entry | None:
        """Return the entry in memory with this seq."""
        index = bisect_right(self.entries, seq, key=_seq)
        return self.entries[index - 1] if index and self.entries[index - 1].seq == seq else None

    def before(self, entry: Entry) -> int | None:
        """Return the tip of the state before an entry in memory."""
        newest = 0 if self.base is None else self.base.id
        for nodes in (self.entries, self.marks):
            index = bisect_right(nodes, entry.id - 1, key=_id)
            if index:
                newest = max(newest, nodes[index - 1].id)
        return newest or None

    def extent_at(self, tip: int | None) -> Extent:
        """Return the length of the prefix with this tip, which :meth:`has` has found."""
        index = bisect_right(self.entries, tip or 0, key=_id)
        if not index and tip is None:
            return Extent(0, 0)
        after = sum(entry.message is not None for entry in self.entries[index:])
        return Extent(self.extent.records - len(self.entries) + index, self.message_count - after)

    def prompt_at(self, tip: int | None) -> Entry | None:
        """Return the newest system event of the prefix with this tip, which :meth:`has` has found."""
        index = bisect_right(self._prompts, tip or 0, key=_id)
        return self._prompts[index - 1] if index else None

    def back_from(self, tip: int | None) -> Iterator[Entry]:
        """Yield the entries in memory of the prefix with this tip, the newest first."""
        return map(self.entries.__getitem__, range(bisect_right(self.entries, tip or 0, key=_id) - 1, -1, -1))

    def open_calls_at(self, tip: int | None) -> OpenCalls:
        """Return the open calls of the prefix with this tip, which :meth:`has` has found."""
        first = bisect_right(self.entries, tip or 0, key=_id)
        if not first:
            return OpenCalls(() if tip is None or self.base is None else self.base.open_calls)
        calls = self.open_calls.copy()
        for entry in reversed(self.entries[first:]):
            calls.withdraw(entry.tools, self._answered.get(entry.id, ()))
        return calls

    def append(self, node: Node) -> None:
        """Append a node."""
        self._since += 1
        if isinstance(node, Mark):
            self.marks.append(node)
            return
        self.entries.append(node)
        self.size += size_in_memory(node)
        if node.message is not None:
            self.message_count += 1
        if node.kind == "system":
            self._prompts.append(node)
        if node.tools is not None:
            answered = self.open_calls.take(node.seq, node.tools)
            if answered:
                self._answered[node.id] = answered
        if self._since >= self._step:
            self._set_milestone(node)

    def _set_milestone(self, entry: Entry) -> None:
        self._since = 0
        made = self.sum_up(entry)
        if len(made.open_calls) <= MAX_OPEN_CALLS:
            self.milestones.append(made)
            self._new.append(made)

    def sum_up(self, newest: Entry) -> Milestone:
        """Summarize it up to its newest entry, as a milestone."""
        previous = self.milestones[-1] if self.milestones else self.base
        after = 0 if previous is None else previous.id
        return Milestone(
            id=newest.id,
            seq=newest.seq,
            extent=self.extent,
            speaker=self._speaker,
            prompt=self._prompts[-1].id if self._prompts else None,
            previous=after or None,
            marked=None if previous is None else previous.id if previous.marks else previous.marked,
            marks=tuple(self.marks[bisect_right(self.marks, after, key=_id) :]),
            open_calls=tuple(self.open_calls),
        )

    @property
    def has_new_milestones(self) -> bool:
        """Whether there are new milestones to take."""
        return bool(self._new)

    def take_new_milestones(self) -> list[Milestone]:
        """Return the milestones that were set since the last time."""
        new, self._new = self._new, []
        return new

    def cut(self, tip: int | None) -> None:
        """Go back to the prefix with this tip, which :meth:`has` has found."""
        keep = 0 if tip is None else tip
        base = self.base if tip is not None else None
        for nodes in (self.marks, self._prompts, self.milestones, self._new):
            del nodes[bisect_right(nodes, keep, key=_id) :]
        first = bisect_right(self.entries, keep, key=_id)
        dropped = self.entries[first:]
        del self.entries[first:]
        if first:
            for entry in reversed(dropped):
                self._withdraw(entry)
        else:  # all entries in memory are cut off, so no call is reopened
            self.base, self.size, self._answered = base, 0, {}
            self.message_count = 0 if base is None else base.extent.messages
            self.open_calls = OpenCalls(() if base is None else base.open_calls)
        newest = self.milestones[-1] if self.milestones else self.base
        after = 0 if newest is None else newest.id
        self._since = sum(len(nodes) - bisect_right(nodes, after, key=_id) for nodes in (self.entries, self.marks))

    def _withdraw(self, entry: Entry) -> None:
        self.size -= size_in_memory(entry)
        if entry.message is not None:
            self.message_count -= 1
        if entry.tools is not None:
            self.open_calls.withdraw(entry.tools, self._answered.pop(entry.id, ()))

    def trim(self, keep: int) -> None:
        """Drop the oldest entries from memory, up to a milestone, but keep at least ``keep`` of them."""
        last = len(self.entries) - keep
        if last <= 0:
            return
        index = bisect_right(self.milestones, self.entries[last - 1].id, key=_id)
        if index:
            self.base = self.milestones[index - 1]
            del self.milestones[:index]
            before = bisect_right(self.entries, self.base.id, key=_id)
            for entry in self.entries[:before]:
                self.size -= size_in_memory(entry)
                self._answered.pop(entry.id, None)
            del self.entries[:before]
            del self._prompts[: max(0, bisect_right(self._prompts, self.base.id, key=_id) - 1)]

    def extend(self, newer: "Conversation") -> None:
        """Become another conversation, with the entries of this one in memory as well.

        The cost is that of the newer entries: there may be a million earlier ones.

        Args:
            newer: the conversation, of which this is the prefix up to its base.
        """
        assert newer.base is not None, "nothing is before"  # noqa: S101
        if self.milestones[-1:] != [newer.base]:
            self.milestones.append(newer.base)
        self.entries += newer.entries
        self.milestones += newer.milestones
        self.marks = newer.marks[:]
        self._prompts += newer._prompts[bisect_right(newer._prompts, newer.base.id, key=_id) :]
        self._answered.update(newer._answered)
        self.open_calls = newer.open_calls.copy()
        self.message_count, self.size = newer.message_count, self.size + newer.size
        self._since, self._new = newer._since, newer._new[:]

    def apply(self, event_id: int, event: Event, past: Takeover | None = None) -> Extent:
        """Fold one committed event; return how long a prefix it left unchanged.

        Args:
            event_id: the id that the commit gave it.
            event: the event.
            past: the state that a ``rewind``, ``restore`` or ``clone`` takes over; by default it is a prefix of this
                one that :meth:`has` has found.
        """
        kind, before = event.kind, self.extent
        if kind in CONVERSATION:
            self.append(event.entry(event_id))
            return before
        if kind == "mark":
            self.append(Mark(event_id, event.seq, label_of(event.data_json)))
        elif kind == "clear":
            self.cut(None)
        elif kind in ("rewind", "restore", "clone"):
            return self._take_over(Branch(event.parent) if past is None else past)
        return min(before, self.extent)

    def apply_all(self, first: int, events: Sequence[Event]) -> None:
        """Do what :meth:`apply` does, for several events and without their extents.

        Args:
            first: the id of the first one; those of the others follow it.
            events: the events.
        """
        entries, texts, size, room = self.entries, 0, 0, self._step - self._since
        for event_id, event in enumerate(events, first):
            seq, _, kind, _, data_json, _, time, _, message, tools, origin = event
            if kind in INERT:
                continue
            if message is None or data_json is not None:
                self._count_texts(texts, size)
                if kind in CONVERSATION:
                    self.append(event.entry(event_id))
                else:
                    self.apply(event_id, event)
                texts, size, room = 0, 0, self._step - self._since
                continue
            # The fast path of `apply` for a plain text, as nearly all messages are.
            entries.append(new_tuple(Entry, (event_id, seq, kind, None, None, time, message, tools, origin)))
            texts += 1
            size += len(message)
            if texts >= room:
                self._count_texts(texts, size)
                texts, size, room = 0, 0, self._step - self._since
        self._count_texts(texts, size)

    def _count_texts(self, texts: int, size: int) -> None:
        """Count the newest entries, which are plain texts, and set a milestone at the last of them if one is due."""
        self.size += texts * ENTRY_SIZE + size
        self.message_count += texts
        self._since += texts
        if texts and self._since >= self._step:
            self._set_milestone(self.entries[-1])

    def _take_over(self, past: Takeover) -> Extent:
        if isinstance(past, Replacement):
            self.become(past.conversation)
            return past.kept
        assert self.has(past.base), "the state to take over must be given"  # noqa: S101
        self.cut(past.base)
        kept = self.extent
        for node in past.nodes:
            self.append(node)
        return kept

    def mark_for(self, label: str | None) -> Mark | None:
        """Return the mark that a rewind goes to: the newest with this label.

        Without a label it is the newest mark that has an entry after it, so that repeated rewinds go further back.
        """
        if label is None:
            before = 0 if self.base is None else self.base.id  # a milestone is at an entry
            newest = self.entries[-1].id if self.entries else before
            index = bisect_right(self.marks, newest, key=_id)
            return self.marks[index - 1] if index else None
        return next((mark for mark in reversed(self.marks) if mark.label == label), None)

    def __eq__(self, other: object) -> bool:
        """Compare everything, but only the entries that both have in memory."""
        if not isinstance(other, Conversation):
            return NotImplemented
        shared = min(len(self.entries), len(other.entries))
        return (
            self.extent == other.extent
            and self.tip == other.tip
            and self.entries[len(self.entries) - shared :] == other.entries[len(other.entries) - shared :]
            and self.marks == other.marks
            and list(self.open_calls) == list(other.open_calls)
            and self.system == other.system
            and self.ready == other.ready
        )

    __hash__ = None  # type: ignore[assignment]  # it changes
