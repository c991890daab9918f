"""The branches inside a conversation: its log is a tree, of which this makes stretches without a branch."""

from __future__ import annotations

import json

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.gist import gist
from reel.reading.log_tree import LogTree, parent_of, place_of
from reel.reading.wording import flat
from reel.said.kinds import CONVERSATION, NODE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reel.reading.log_tree import Place
    from reel.replies import AgentRow
    from reel.said.messages import Event

# The nodes, and what decides where the conversation goes on.
KINDS = sorted(NODE_KINDS | {"created", "rewind", "restore", "clear", "clone"})
_WORDS = 200
# What continues a branch on the lines below it.
_BELOW = {"": "", "├─ ": "│  ", "└─ ": "   "}


class Node(NamedTuple):
    """A message, prompt or mark; ``elsewhere`` is what another conversation had before it was taken over."""

    key: Place
    parent: Place | None
    kind: str
    # Its first words, or the label of a mark.
    words: str


class Stretch(NamedTuple):
    """Nodes that follow each other without a branch; whether they are in the conversation, and its end."""

    nodes: list[Node]
    live: bool
    now: bool
    # The clones that left from here, as names and seqs.
    clones: list[tuple[str, int]]

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return sum(node.kind not in ("mark", "system", "elsewhere") for node in self.nodes)

    @property
    def words(self) -> str:
        """The first words of the first message."""
        said = [node.words for node in self.nodes if node.kind not in ("mark", "system") and node.words]
        return said[0] if said else next((node.words for node in self.nodes if node.kind == "system"), "")

    @property
    def marks(self) -> list[Node]:
        """The marks in it."""
        return [node for node in self.nodes if node.kind == "mark"]


class Branches:
    """The tree of a log, from its events of ``KINDS`` and the list of the agent's clones."""

    def __init__(self) -> None:
        self._tree = LogTree()
        self._nodes: dict[Place, Node] = {}
        self._children: dict[Place | None, list[Place]] = {}
        self._clones: dict[Place, list[tuple[str, int]]] = {}
        self._live: set[Place] = set()

    def add(self, events: Iterable[Event]) -> None:
        """Take the next events of the log, inherited ones in front."""
        for event in events:
            if self._tree.fold(event):
                self._add(Node(place_of(event), parent_of(event), event["kind"], _words(event)))

    def add_clones(self, agent: str, rows: Iterable[AgentRow]) -> None:
        """Take the clones of an agent, an id, from a page of the list, after its whole log."""
        for row in rows:
            if row.source is not None and row.source.agent == agent:
                tip = self._tree.tip_at(row.source.at)
                if tip is not None:
                    self._clones.setdefault(tip, []).append((row.name, row.source.at))

    def _add(self, node: Node) -> None:
        if node.parent is not None:
            self._reach(node.parent)
        self._nodes[node.key] = node
        self._children.setdefault(node.parent, []).append(node.key)

    def _reach(self, place: Place) -> None:
        """Add a node that a clone brought, unless it is there."""
        if place not in self._nodes:
            self._add(Node(place, None, "elsewhere", "taken over from another conversation"))

    def stretches(self) -> Iterator[tuple[str, Stretch]]:
        """Yield the stretches, each with its branch; what continues a stretch is below it in the same column."""
        tip = self._tree.tip
        if tip is not None:
            self._reach(tip)
        self._live = set(self._tree.path(tip))
        # Without recursion: there may be thousands of branches inside each other.
        stack = self._below(None, "", live=True)
        if len(stack) > 1 or (stack and tip is None):
            yield "", Stretch([], live=True, now=tip is None, clones=[])
        while stack:
            margin, branch, key = stack.pop()
            stretch = self._stretch(key)
            yield margin + branch, stretch
            stack += self._below(stretch.nodes[-1].key, margin + _BELOW[branch], live=stretch.live)

    def _below(self, key: Place | None, margin: str, *, live: bool) -> list[tuple[str, str, Place]]:
        """Return what follows a node, the last to be shown first."""
        children = self._children.get(key, [])
        straight = next((child for child in children if child in self._live), None)
        if straight is None and children and not live:
            straight = children[-1]
        branches = [child for child in children if child != straight]
        below = [(margin, "├─ ", child) for child in branches]
        if straight is not None:
            below.append((margin, "", straight))
        elif below:
            below[-1] = (margin, "└─ ", branches[-1])
        return below[::-1]

    def _stretch(self, key: Place) -> Stretch:
        live, nodes = key in self._live, [self._nodes[key]]
        while len(following := self._children.get(key, [])) == 1 and (following[0] in self._live) == live:
            if nodes[-1].kind == "elsewhere":  # its seqs are of another log
                break
            key = following[0]
            nodes.append(self._nodes[key])
        clones = [clone for node in nodes for clone in self._clones.get(node.key, [])]
        return Stretch(nodes, live=live, now=key == self._tree.tip, clones=clones)


def _words(event: Event) -> str:
    if event["kind"] in CONVERSATION:
        return flat(gist(event), _WORDS)
    try:
        label = json.loads(event["data_json"] or "{}").get("label")
    except (ValueError, RecursionError, AttributeError):  # a damaged row
        return ""
    return label if isinstance(label, str) else ""
