"""The branches inside a conversation: the log is a tree, which this folds and lays out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from reel.cli.output import Line
from reel.light_typing import NamedTuple
from reel.reading.wording import cells, count, cut, safe, seq_range

# An event: the id of its agent, and its seq.
Key = tuple[str, int]
_LISTED = 3
_WORDS = 60
# What continues a branch on the lines below it.
_BELOW = {"": "", "├─ ": "│  ", "└─ ": "   "}


class Node(NamedTuple):
    """A message, prompt or mark; ``elsewhere`` is what another conversation had before it was taken over."""

    key: Key
    parent: Key | None
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
    """The tree of a log.

    Args:
        nodes: the nodes; a parent comes before its children, or is not among them.
        tips: the end of the conversation after each event, as pairs of a seq and a node.
        clones: the names of clones, and the seqs at which they left.
    """

    def __init__(
        self, nodes: Iterable[Node], tips: list[tuple[int, Key | None]], clones: Iterable[tuple[str, int]] = ()
    ) -> None:
        self._nodes: dict[Key, Node] = {}
        self._children: dict[Key | None, list[Key]] = {}
        for node in nodes:
            if node.parent is not None and node.parent not in self._nodes:
                self._add(Node(node.parent, None, "elsewhere", "taken over from another conversation"))
            self._add(node)
        self._tip = tips[-1][1] if tips else None
        if self._tip is not None and self._tip not in self._nodes:
            self._add(Node(self._tip, None, "elsewhere", "taken over from another conversation"))
        self._live = set(self._path(self._tip))
        self._clones: dict[Key, list[tuple[str, int]]] = {}
        seqs = [seq for seq, _ in tips]
        for name, at in clones:
            place = bisect_right(seqs, at) - 1
            if place >= 0 and (tip := tips[place][1]) is not None:
                self._clones.setdefault(tip, []).append((name, at))

    def _add(self, node: Node) -> None:
        self._nodes[node.key] = node
        self._children.setdefault(node.parent, []).append(node.key)

    def _path(self, key: Key | None) -> Iterator[Key]:
        while key is not None:
            yield key
            key = self._nodes[key].parent

    def stretches(self) -> Iterator[tuple[str, Stretch]]:
        """Yield the stretches, each with its branch; what continues a stretch is below it in the same column."""
        # Without recursion: there may be thousands of branches inside each other.
        stack = self._below(None, "", live=True)
        if len(stack) > 1 or (stack and self._tip is None):
            yield "", Stretch([], live=True, now=self._tip is None, clones=[])
        while stack:
            margin, branch, key = stack.pop()
            stretch = self._stretch(key)
            yield margin + branch, stretch
            stack += self._below(stretch.nodes[-1].key, margin + _BELOW[branch], live=stretch.live)

    def _below(self, key: Key | None, margin: str, *, live: bool) -> list[tuple[str, str, Key]]:
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

    def _stretch(self, key: Key) -> Stretch:
        live, nodes = key in self._live, [self._nodes[key]]
        while len(following := self._children.get(key, [])) == 1 and (following[0] in self._live) == live:
            if nodes[-1].kind == "elsewhere":  # its seqs are of another log
                break
            key = following[0]
            nodes.append(self._nodes[key])
        clones = [clone for node in nodes for clone in self._clones.get(node.key, [])]
        return Stretch(nodes, live=live, now=key == self._tip, clones=clones)


def layout(branch: str, stretch: Stretch, width: int | None) -> Line:
    """Lay out a stretch on one line: a star if it is in the conversation, its seqs, its length, its first words."""
    star, style = ("* ", "") if stretch.live else ("  ", "dim")
    if not stretch.nodes:
        return [star, ("(beginning)", "dim"), (" now" if stretch.now else "", "ok")]
    seqs = seq_range(stretch.nodes[0].key[1], stretch.nodes[-1].key[1])
    notes = [
        "now" if stretch.now else "",
        *_listed([f"mark {safe(mark.words or '(no label)')} #{mark.key[1]}" for mark in stretch.marks]),
        *_listed([f"clone {name} at #{at}" for name, at in stretch.clones]),
    ]
    note = "".join(f"  [{text}]" for text in notes if text)
    head = f"{star}{branch}{seqs}  {count(stretch.messages, 'message')}"
    if width is None:
        return [(head, style), (note, "ok"), (f"  {cut(stretch.words, _WORDS)}", style)]
    head = cut(head, width)
    left = width - cells(head)
    note = cut(note, left) if left > 1 else ""
    room = left - cells(note) - 2
    return [(head, style), (note, "ok"), (f"  {cut(stretch.words, room)}" if room > 1 else "", style)]


def _listed(texts: list[str]) -> list[str]:
    """Return the first texts, and how many more there are."""
    return [*texts[:_LISTED], *([f"{len(texts) - _LISTED:,} more"] if len(texts) > _LISTED else [])]
