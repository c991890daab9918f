"""The path of a conversation while a stretch of its log is staged: where it is, and where it can go.

A command that moves the tip is otherwise staged alone, over the committed state. In a stretch it may go back to an
event before it in the same stretch, whose id is not known before the commit. So the path is the prefix of a committed
conversation, and after it the numbers of staged events. The state that each move takes over is noted as a
:class:`Turn`, and becomes one that :meth:`reeld.core.conversation.Conversation.apply` takes once the ids are known.
"""

from collections.abc import Iterator, Sequence

from reel.base.light_typing import NamedTuple
from reeld.core.conversation import Branch, Conversation, Replacement, Takeover
from reeld.core.events import Event, Mark, Node, label_of
from reeld.core.milestones import Milestone
from reeld.core.tree import is_node


class Turn(NamedTuple):
    """The state that a staged event takes over.

    Args:
        past: the committed part of it; ``None`` if it begins with a staged event that is on the path.
        base: the number of that event.
        nodes: the numbers of the staged nodes after either.
    """

    past: Takeover | None
    base: int = 0
    nodes: Sequence[int] = ()

    def takeover(self, first: int, events: Sequence[Event]) -> Takeover:
        """Return the state, as the ids of the events say it; ``first`` is that of the first one."""
        nodes = [_node(first + number, events[number]) for number in self.nodes]
        match self.past:
            case None:
                return Branch(first + self.base, nodes)
            case Branch(base, before):
                return Branch(base, [*before, *nodes])
            case Replacement(conversation, kept) if nodes:
                whole = conversation.copy()
                for node in nodes:
                    whole.append(node)
                return Replacement(whole, kept)
        return self.past


def _node(event_id: int, event: Event) -> Node:
    return Mark(event_id, event.seq, label_of(event.data_json)) if event.kind == "mark" else event.entry(event_id)


class Path:
    """The path of an agent's conversation over staged events.

    A tip is named as the parent of an :class:`~reeld.core.events.Event` is.

    Args:
        conversation: the committed one.
        events: what is staged; this list grows.
    """

    def __init__(self, conversation: Conversation, events: Sequence[Event]) -> None:
        # The committed part of the path is the prefix of a conversation up to a node.
        self._held, self._upto = conversation, conversation.tip
        self._events = events
        # The numbers of the staged nodes after it, their places in this list, and how many events are in it already.
        self._nodes: list[int] = []
        self._places: dict[int, int] = {}
        self._done = 0

    @property
    def committed(self) -> Conversation:
        """The committed part of the path."""
        if self._upto != self._held.tip:  # nothing goes on from what was behind that, so it is cut off once
            self._held = self._held.prefix(self._upto)
        return self._held

    def follow(self) -> None:
        """Add the nodes that were staged since the last call or move."""
        for number in range(self._done, len(self._events)):
            if is_node(self._events[number].kind):
                self._places[number] = len(self._nodes)
                self._nodes.append(number)
        self._done = len(self._events)

    def back(self) -> tuple[Iterator[Event], Conversation, int | None]:
        """Return its staged events, the newest first, and the conversation and the tip that it has before them."""
        return map(self._events.__getitem__, reversed(self._nodes)), self._held, self._upto

    def has(self, number: int) -> bool:
        """Return whether a staged event is a node of the path."""
        return number in self._places

    def mark_for(self, label: str | None) -> tuple[int, int] | None:
        """Return the tip and the seq of the mark that a rewind goes to, or ``None`` if there is none."""
        end = len(self._nodes)
        if label is None:  # the newest one that an entry follows
            while end and self._events[self._nodes[end - 1]].kind == "mark":
                end -= 1
        for number in reversed(self._nodes[:end]):
            event = self._events[number]
            if event.kind == "mark" and label in (None, label_of(event.data_json)):
                return ~number, event.seq
        committed = self.committed
        if label is None and end:
            found = committed.marks[-1] if committed.marks else None
        else:
            found = committed.mark_for(label)
        return None if found is None else (found.id, found.seq)

    def way_to(self, tip: int | None) -> tuple[int | None, list[int]] | Turn:
        """Return the turn to the state with a tip, or what of it is committed if that has to be read.

        Returns:
            the turn; or the committed tip of which :meth:`turn` needs a takeover, and the staged nodes after it.
        """
        tail: list[int] = []
        while tip is not None and tip < 0:
            if self.has(~tip):
                return self._go(Turn(None, ~tip, tail[::-1]))
            tail.append(~tip)
            tip = self._events[~tip].parent
        if self._is_committed_prefix(tip):
            self._upto = tip
            return self._go(Turn(Branch(tip), nodes=tail[::-1]))
        return tip, tail[::-1]

    def turn(self, tip: int | None, nodes: list[int], past: Takeover) -> Turn:
        """Go to a state whose committed part was read; see :meth:`way_to`."""
        if isinstance(past, Replacement):
            self._held = past.conversation
        else:
            self._held = self._held.prefix(past.base)
            for node in past.nodes:
                self._held.append(node)
        self._upto = tip
        return self._go(Turn(past, nodes=nodes))

    def _is_committed_prefix(self, tip: int | None) -> bool:
        return tip is None or (self._upto is not None and tip <= self._upto and self._held.has(tip))

    def _go(self, turn: Turn) -> Turn:
        """Follow a turn."""
        self._cut(0 if turn.past is not None else self._places[turn.base] + 1)
        for number in turn.nodes:
            self._places[number] = len(self._nodes)
            self._nodes.append(number)
        return turn

    def _cut(self, length: int) -> None:
        for number in self._nodes[length:]:
            del self._places[number]
        del self._nodes[length:]

    def before(self, seq: int) -> tuple[int | None] | None:
        """Return the tip before the committed entry with a seq, or ``None`` if none is in memory and on the path."""
        entry = self._held.entry_at(seq)
        is_on_path = entry is not None and self._upto is not None and entry.id <= self._upto
        return (self._held.before(entry),) if entry is not None and is_on_path else None

    @property
    def base(self) -> Milestone | None:
        """The milestone before what is in memory of the path."""
        return None if self._upto is None else self._held.base
