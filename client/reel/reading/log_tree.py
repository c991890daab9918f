"""The log of an agent as a tree: its nodes, where the conversation is, and where it was after each command.

A node is a message, a prompt or a mark; its parent is the node before it. The conversation after any event is the path
from the tip there to the root (docs/architecture.md, "The log is a tree"). The events are those of ``history`` with
``inherited``, in order.

A clone into the agent, and a restore to after one, bring nodes that are in no event of the log. A path that leads to
one ends with it: it is a parent, and not in the tree. Whoever needs it reads the conversation at that position, and
adds what it finds with :meth:`LogTree.add`.

A log may have a hundred thousand nodes, so each is stored as three numbers instead of objects.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from reel.base.light_typing import TYPE_CHECKING
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
        # Of each agent: the seqs of its nodes, in ascending order, and their parents.
        self._seqs: list[array[int]] = []
        self._parents: list[_Places] = []
        # The first seq of each command, in ascending order, and the tip after each.
        self._commands = array("q")
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
        seqs, parents = self._seqs[owner], self._parents[owner]
        index = bisect_left(seqs, place[1])
        if index < len(seqs) and seqs[index] == place[1]:
            parents[index] = self._packed(parent)
        else:
            seqs.insert(index, place[1])
            parents.insert(index, self._packed(parent))

    def move(self, tip: Place | None, head: int, command: int) -> None:
        """Go to a place of the conversation, by an event at a seq, which is a part of a command."""
        self.head, self.tip = head, tip
        if not self._commands or self._commands[-1] != command:
            self._ends.insert(len(self._commands), self._packed(tip))
            self._commands.append(command)
        else:
            self._ends[-1] = self._packed(tip)

    def __contains__(self, place: Place) -> bool:
        return self._find(place) is not None

    def parent(self, place: Place) -> Place | None:
        """Return the parent of a node; ``None`` at the root, and for what is not in the tree."""
        found = self._find(place)
        if found is None:
            return None
        parent = self._unpacked(self._parents[found[0]][found[1]])
        # A damaged log may name a later one, and so lead in a circle.
        return None if parent is not None and parent[0] == place[0] and parent[1] >= place[1] else parent

    def nearest(self, place: Place) -> Place | None:
        """Return the newest node of an agent at a seq or before it."""
        owner = self._number(place[0])
        index = bisect_right(self._seqs[owner], place[1]) - 1
        return None if index < 0 else (place[0], self._seqs[owner][index])

    def children(self, place: Place | None) -> Iterator[Place]:
        """Yield the nodes whose parent is a place, or that have none. All nodes after it are looked at."""
        wanted, after = self._packed(place), -1 if place is None else place[1]
        for owner, (name, seqs) in enumerate(zip(self._names, self._seqs, strict=True)):
            parents = self._parents[owner]
            for index in range(bisect_right(seqs, after), len(seqs)):
                if parents[index] == wanted:
                    yield name, seqs[index]

    def path(self, tip: Place | None) -> Iterator[Place]:
        """Yield the nodes from a tip back to the root; the last one may be in another log, and not in the tree."""
        while tip is not None:
            yield tip
            tip = self.parent(tip)

    def tip_at(self, seq: int) -> Place | None:
        """Return the tip after the command that wrote the event at a seq, or the last command before it."""
        index = bisect_right(self._commands, seq) - 1
        return None if index < 0 else self._unpacked(self._ends[index])

    def _find(self, place: Place) -> tuple[int, int] | None:
        owner = self._owners.get(place[0])
        if owner is None:
            return None
        seqs = self._seqs[owner]
        index = bisect_left(seqs, place[1])
        return (owner, index) if index < len(seqs) and seqs[index] == place[1] else None

    def _number(self, agent: str) -> int:
        if agent not in self._owners:
            self._owners[agent] = len(self._names)
            self._names.append(agent)
            self._seqs.append(array("q"))
            self._parents.append(_Places())
        return self._owners[agent]

    def _packed(self, place: Place | None) -> tuple[int, int]:
        return (_NONE, _NONE) if place is None else (self._number(place[0]), place[1])

    def _unpacked(self, packed: tuple[int, int]) -> Place | None:
        return None if packed[0] == _NONE else (self._names[packed[0]], packed[1])


class _Places:
    """Places as pairs of numbers: that of the agent, and the seq."""

    def __init__(self) -> None:
        self._owners = array("i")
        self._seqs = array("q")

    def insert(self, index: int, place: tuple[int, int]) -> None:
        self._owners.insert(index, place[0])
        self._seqs.insert(index, place[1])

    def __setitem__(self, index: int, place: tuple[int, int]) -> None:
        self._owners[index], self._seqs[index] = place

    def __getitem__(self, index: int) -> tuple[int, int]:
        return self._owners[index], self._seqs[index]
