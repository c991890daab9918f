"""The current conversation of an agent: a list of entries, kept up to date by folding each event as it commits.

Ids ascend along the path from the root to the tip, because a parent is always older than its child (see
:mod:`reeld.core.tree`). So the list is cut and searched by id, and a position in it is a node's id.

*Live equals replayed*: the fold gives the same conversation as a walk through the log. The property machine in
``tests/reeld/core/test_machine.py`` compares both with a third model after every command.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from reel.blocks import InvalidRecord
from reel.kinds import CONVERSATION, ROLES
from reel.records import parse_data, system_text
from reeld.core.events import Entry, Event, Mark, Node, Tools


class OpenCall(NamedTuple):
    """A tool call that waits for its result."""

    id: str
    name: str
    seq: int
    # Its index among the calls of its message.
    number: int

    def as_map(self) -> dict[str, Any]:
        """Return it in the form of the protocol."""
        return {"id": self.id, "name": self.name, "seq": self.seq}


class Extent(NamedTuple):
    """The length of a conversation in its two views."""

    records: int
    messages: int


class Branch(NamedTuple):
    """Where a state leaves a conversation: the newest node that both have, and the nodes of the state after it.

    ``base`` is ``None`` if they share nothing; ``nodes`` are all of the state then.
    """

    base: int | None
    nodes: Sequence[Node]


def _id(node: Node) -> int:
    return node.id


class OpenCalls:
    """The calls without a result, in their order.

    A result answers the newest open call of its id: an older one of the same id was left behind by an
    interruption, and its turn is over.
    """

    __slots__ = ("_by_id",)

    def __init__(self, by_id: dict[str, tuple[OpenCall, ...]] | None = None) -> None:
        self._by_id = by_id or {}

    def copy(self) -> "OpenCalls":
        """Return a copy that can be changed independently."""
        return OpenCalls(dict(self._by_id))

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def __iter__(self) -> Iterator[OpenCall]:
        calls = [call for waiting in self._by_id.values() for call in waiting]
        return iter(sorted(calls, key=lambda call: (call.seq, call.number)))

    def open(self, call: OpenCall) -> None:
        """Add a call."""
        self._by_id[call.id] = (*self._by_id.get(call.id, ()), call)

    def close(self, call_id: str) -> OpenCall | None:
        """Remove and return the call that a result answers; ``None`` if it answers none."""
        waiting = self._by_id.pop(call_id, None)
        if waiting is None:
            return None
        if len(waiting) > 1:
            self._by_id[call_id] = waiting[:-1]
        return waiting[-1]

    def take(self, seq: int, tools: Tools) -> list[OpenCall | None]:
        """Add the calls of a message, and remove those that it answers; return what each of its results answered."""
        for number, (call_id, name) in enumerate(tools.calls):
            self.open(OpenCall(call_id, name, seq, number))
        return [self.close(call_id) for call_id in tools.results]


class Conversation:
    """Entries, marks and open calls from the root to the tip."""

    __slots__ = ("_answered", "_prompts", "entries", "marks", "message_count", "open_calls")

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.entries: list[Entry] = []
        self.marks: list[Mark] = []
        self.message_count = 0
        self.open_calls = OpenCalls()
        self._prompts: list[Entry] = []
        # The calls that the results of an entry answered, by the entry's id: cutting the entry off opens them again.
        self._answered: dict[int, list[OpenCall | None]] = {}
        for node in nodes:
            self.append(node)

    def copy(self) -> "Conversation":
        """Return a copy that does not change with this one."""
        twin = Conversation()
        twin.entries, twin.marks, twin._prompts = self.entries[:], self.marks[:], self._prompts[:]
        twin.message_count, twin._answered = self.message_count, dict(self._answered)
        twin.open_calls = self.open_calls.copy()
        return twin

    @property
    def tip(self) -> int | None:
        """The newest node's id; ``None`` if there is no node."""
        newest = 0
        if self.entries:
            newest = self.entries[-1].id
        if self.marks and self.marks[-1].id > newest:
            newest = self.marks[-1].id
        return newest or None

    @property
    def extent(self) -> Extent:
        """Its length."""
        return Extent(len(self.entries), self.message_count)

    @property
    def prompt(self) -> Entry | None:
        """The newest system event, even if it removed the system prompt."""
        return self._prompts[-1] if self._prompts else None

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return system_text(self._prompts[-1].content) if self._prompts else None

    @property
    def ready(self) -> bool:
        """Whether a model has something to answer: the messages end with a user's or a tool's."""
        for entry in reversed(self.entries):
            if entry.message is not None:
                return ROLES[entry.kind] != "assistant"
        return False

    def has(self, node_id: int | None) -> bool:
        """Return whether the state with this tip is a prefix of this one."""
        if node_id is None:
            return True
        for nodes in (self.entries, self.marks):
            index = bisect_right(nodes, node_id, key=_id)
            if index and nodes[index - 1].id == node_id:
                return True
        return False

    def branch(self, nodes: Sequence[Node]) -> Branch:
        """Return where a state, given by all its nodes, leaves this conversation."""
        shared = bisect_left(nodes, True, key=lambda node: not self.has(node.id))
        return Branch(nodes[shared - 1].id if shared else None, nodes[shared:])

    def append(self, node: Node) -> None:
        """Append a node."""
        if isinstance(node, Mark):
            self.marks.append(node)
            return
        self.entries.append(node)
        if node.message is not None:
            self.message_count += 1
        if node.kind == "system":
            self._prompts.append(node)
        if node.tools is not None:
            answered = self.open_calls.take(node.seq, node.tools)
            if answered:
                self._answered[node.id] = answered

    def cut(self, tip: int | None) -> int:
        """Go back to the prefix with this tip; return how many records were cut off."""
        keep = 0 if tip is None else tip
        del self.marks[bisect_right(self.marks, keep, key=_id) :]
        del self._prompts[bisect_right(self._prompts, keep, key=_id) :]
        first = bisect_right(self.entries, keep, key=_id)
        dropped = self.entries[first:]
        del self.entries[first:]
        if first:
            for entry in reversed(dropped):
                self._withdraw(entry)
        else:  # everything is cut off, so no call is opened again
            self.message_count = 0
            self.open_calls = OpenCalls()
            self._answered = {}
        return len(dropped)

    def _withdraw(self, entry: Entry) -> None:
        if entry.message is not None:
            self.message_count -= 1
        if entry.tools is not None:
            for call in reversed(self._answered.pop(entry.id, [])):
                if call is not None:
                    self.open_calls.open(call)
            for call_id, _ in entry.tools.calls:
                self.open_calls.close(call_id)

    def apply(self, event_id: int, event: Event, past: Branch | None = None) -> Extent:
        """Fold one committed event; return how long a prefix it left unchanged.

        Args:
            event_id: the id that the commit gave it.
            event: the event.
            past: for ``restore`` and ``clone``, where the state to take over leaves this one.
        """
        kind, before = event.kind, self.extent
        if kind in CONVERSATION:
            self.append(event.entry(event_id))
            return before
        if kind == "mark":
            self.append(Mark(event_id, event.seq, label_of(event.data_json)))
        elif kind == "clear":
            self.cut(None)
        elif kind == "rewind":
            self.cut(event.parent)
        elif kind in ("restore", "clone"):
            return self._become(past)
        return min(before, self.extent)

    def _become(self, past: Branch | None) -> Extent:
        assert past is not None, "the state to take over must be given"  # noqa: S101
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
            newest = self.entries[-1].id if self.entries else 0
            index = bisect_right(self.marks, newest, key=_id)
            return self.marks[index - 1] if index else None
        return next((mark for mark in reversed(self.marks) if mark.label == label), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (
            self.entries == other.entries
            and self.marks == other.marks
            and self.message_count == other.message_count
            and list(self.open_calls) == list(other.open_calls)
            and self.system == other.system
        )

    __hash__ = None  # type: ignore[assignment]  # it changes


def label_of(data_json: str | None) -> str | None:
    """Return a mark's label; a mark whose data cannot be read has none."""
    label = data_of(data_json).get("label")
    return label if isinstance(label, str) else None


def data_of(data_json: str | None) -> dict[str, Any]:
    """Return the data of a state event; data that cannot be read is empty."""
    try:
        return parse_data(data_json or "{}")
    except InvalidRecord:
        return {}
