"""The log of an agent as a tree: its nodes, where the conversation is, and where it was after each command.

A node is a message, a prompt or a mark; its parent is the node before it. The conversation after any event is the path
from the tip there to the root (docs/architecture.md, "The log is a tree"). The events are those of ``history`` with
``inherited``, in order.

A clone into the agent, and a restore to after one, bring nodes that are in no event of the log. A path that leads to
one ends with it: it is a parent, and not in the tree. Whoever needs it reads the conversation at that position, and
adds what it finds with :meth:`LogTree.add`.

A log may have a million nodes, so each is stored as a number instead of objects: nearly all follow the one before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from reel.base.light_typing import TYPE_CHECKING
from reel.base.number_arrays import inserted, numbers, replaced
from reel.said.kinds import NODE_KINDS, tip_after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from reel.said.messages import Event

    # An event: the id of its agent, and its seq.
    Place: TypeAlias = tuple[str, int]

_NONE = -1


def place_of(event: Event) -> Place:
    """Return where an event is."""
    return event["agent"], event["seq"]


def parent_of(event: Event) -> Place | None:
    """Return the parent of an event."""
    parent = event["parent"]
    return None if parent is None else (parent["agent"], parent["seq"])


class LogTree:
    """The tree of the events that it was given."""

    def __init__(self) -> None:
        self.head = 0
        self.tip: Place | None = None
        self._owners: dict[str, int] = {}
        self._names: list[str] = []
        # Those of each agent.
        self._nodes: list[_Nodes] = []
        # The first seq of each command, in ascending order, and the tip after each but the newest.
        self._commands = numbers()
        self._ends = _Places()

    def fold(self, event: Event) -> bool:
        """Take the next event, and return whether it is a node."""
        place, parent = place_of(event), parent_of(event)
        if is_node := event["kind"] in NODE_KINDS:
            self.add(place, parent)
        self.move(tip_after(place, event["kind"], parent), event["seq"], event["command"])
        return is_node

    def add(self, place: Place, parent: Place | None) -> None:
        """Add a node, or give it another parent. The conversation stays where it is."""
        owner = self._number(place[0])
        if parent is not None and parent[0] == place[0]:  # as nearly always
            self._nodes[owner].add(place[1], (owner, parent[1]))
        else:
            self._nodes[owner].add(place[1], self._packed(parent))

    def move(self, tip: Place | None, head: int, command: int) -> None:
        """Go to a place of the conversation, by an event at a seq, which is a part of a command."""
        commands = len(self._commands)
        if not commands or self._commands[-1] != command:
            if commands:
                self._ends.insert(commands - 1, self._packed(self.tip))
            self._commands = inserted(self._commands, commands, command)
        self.head, self.tip = head, tip

    def __contains__(self, place: Place) -> bool:
        return self._find(place) is not None

    def parent(self, place: Place) -> Place | None:
        """Return the parent of a node; ``None`` at the root, and for what is not in the tree."""
        found = self._find(place)
        if found is None:
            return None
        parent = self._unpacked(self._nodes[found[0]].parent(found[1]))
        # A damaged log may name a later one, and so lead in a circle.
        return None if parent is not None and parent[0] == place[0] and parent[1] >= place[1] else parent

    def nearest(self, place: Place) -> Place | None:
        """Return the newest node of an agent at a seq or before it."""
        seqs = self._nodes[self._number(place[0])].seqs
        index = bisect_right(seqs, place[1]) - 1
        return None if index < 0 else (place[0], seqs[index])

    def children(self, place: Place | None) -> Iterator[Place]:
        """Yield the nodes whose parent is a place, or that have none. All nodes after it are looked at."""
        wanted, after = self._packed(place), -1 if place is None else place[1]
        for name, nodes in zip(self._names, self._nodes, strict=True):
            for index in range(bisect_right(nodes.seqs, after), len(nodes.seqs)):
                if nodes.parent(index) == wanted:
                    yield name, nodes.seqs[index]

    def path(self, tip: Place | None) -> Iterator[Place]:
        """Yield the nodes from a tip back to the root; the last one may be in another log, and not in the tree."""
        while tip is not None:
            yield tip
            tip = self.parent(tip)

    def tip_at(self, seq: int) -> Place | None:
        """Return the tip after the command that wrote the event at a seq, or the last command before it."""
        index = bisect_right(self._commands, seq) - 1
        if index == len(self._commands) - 1:
            return self.tip
        return None if index < 0 else self._unpacked(self._ends[index])

    def _find(self, place: Place) -> tuple[int, int] | None:
        owner = self._owners.get(place[0])
        index = None if owner is None else _find(self._nodes[owner].seqs, place[1])
        return None if owner is None or index is None else (owner, index)

    def _number(self, agent: str) -> int:
        if agent not in self._owners:
            self._owners[agent] = len(self._names)
            self._names.append(agent)
            self._nodes.append(_Nodes(self._owners[agent]))
        return self._owners[agent]

    def _packed(self, place: Place | None) -> tuple[int, int]:
        return (_NONE, _NONE) if place is None else (self._number(place[0]), place[1])

    def _unpacked(self, packed: tuple[int, int]) -> Place | None:
        return None if packed[0] == _NONE else (self._names[packed[0]], packed[1])


class _Nodes:
    """The nodes of an agent, with their parents. Those that do not follow the node before are listed.

    Args:
        owner: the number of the agent.
    """

    def __init__(self, owner: int) -> None:
        self._owner = owner
        # In ascending order, as those that are listed.
        self.seqs = numbers()
        self._listed, self._parents = numbers(), _Places()

    def add(self, seq: int, parent: tuple[int, int]) -> None:
        """Add a node, or give it another parent; that of the next node stays."""
        end = len(self.seqs)
        if not end or seq > self.seqs[-1]:  # as nearly all
            before = self._before(end)
            self.seqs = inserted(self.seqs, end, seq)
            if parent != before:
                self._list(len(self._listed), seq, parent)
            return
        index = bisect_left(self.seqs, seq)
        if self.seqs[index] != seq:
            following = self.parent(index)
            self.seqs = inserted(self.seqs, index, seq)
            self._set(index + 1, following)
        self._set(index, parent)

    def parent(self, index: int) -> tuple[int, int]:
        """Return the parent of a node."""
        listed = _find(self._listed, self.seqs[index])
        return self._before(index) if listed is None else self._parents[listed]

    def _before(self, index: int) -> tuple[int, int]:
        return (self._owner, self.seqs[index - 1]) if index else (_NONE, _NONE)

    def _set(self, index: int, parent: tuple[int, int]) -> None:
        seq = self.seqs[index]
        if (listed := _find(self._listed, seq)) is not None:
            self._parents[listed] = parent
        elif parent != self._before(index):
            self._list(bisect_left(self._listed, seq), seq, parent)

    def _list(self, place: int, seq: int, parent: tuple[int, int]) -> None:
        self._listed = inserted(self._listed, place, seq)
        self._parents.insert(place, parent)


def _find(seqs: array[int], seq: int) -> int | None:
    """Return the index of a seq, if it is there."""
    index = bisect_left(seqs, seq)
    return index if index < len(seqs) and seqs[index] == seq else None


class _Places:
    """Places as pairs of numbers: that of the agent, and the seq."""

    def __init__(self) -> None:
        self._owners = array("i")
        self._seqs = numbers()

    def insert(self, index: int, place: tuple[int, int]) -> None:
        self._owners.insert(index, place[0])
        self._seqs = inserted(self._seqs, index, place[1])

    def __setitem__(self, index: int, place: tuple[int, int]) -> None:
        self._owners[index] = place[0]
        self._seqs = replaced(self._seqs, index, place[1])

    def __getitem__(self, index: int) -> tuple[int, int]:
        return self._owners[index], self._seqs[index]
