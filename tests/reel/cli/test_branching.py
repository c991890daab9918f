"""``reel tree``."""

from hypothesis import given
from hypothesis import strategies as st

from reel.cli.branches import Branches, Node, layout
from reel.reading.wording import cells
from reel.sync.client import Client

from .conftest import Reel


def shown(branches: Branches, width: int | None = None) -> list[str]:
    """Return the lines of a tree."""
    lines = (layout(branch, stretch, width) for branch, stretch in branches.stretches())
    return ["".join(span if isinstance(span, str) else span[0] for span in line) for line in lines]


def chain(*parents: int) -> list[Node]:
    """Return messages 1, 2, ... with these parents; 0 is the beginning."""
    return [
        Node(("a", seq), ("a", parent) if parent else None, "user", f"word {seq}")
        for seq, parent in enumerate(parents, 1)
    ]


def test_rewound_undone_and_cloned(reel: Reel, client: Client, name: str) -> None:
    """What was left behind is a branch, with the seqs to go back to, the mark, the clone and the end."""
    client.add(name, ["A"], create=True)
    client.mark(name, "m")
    client.add(name, "B")
    client.rewind(name, "m")
    client.add(name, ["C", "D"])
    client.clone(name, f"{name}-2")
    client.add(f"{name}-2", "own")

    assert reel("tree", name).out.splitlines() == [
        "* #2-#3  1 message  [mark m #3]  A",
        "  ├─ #4  1 message  B",
        f"* #6-#7  2 messages  [now]  [clone {name}-2 at #7]  C",
    ]
    (*_, last) = reel("tree", f"{name}-2", "--json").documents
    assert (last["live"], last["now"], last["messages"], last["parent"]["seq"]) == (True, True, 3, 3)
    client.clear(name)
    assert reel("tree", name).out.splitlines()[0] == "* (beginning) now"


def test_what_was_undone_is_below_the_end() -> None:
    """The conversation ends where its undone messages branch off."""
    branches = Branches(chain(0, 1, 2), [(3, ("a", 3)), (4, ("a", 1))])

    assert shown(branches) == ["* #1  1 message  [now]  word 1", "  └─ #2-#3  2 messages  word 2"]


def test_taken_over_from_elsewhere() -> None:
    """A conversation that continues one which is not in the log begins with a line for that."""
    branches = Branches([Node(("a", 5), ("other", 9), "user", "hi")], [(5, ("a", 5))])

    assert shown(branches) == [
        "* #9  0 messages  taken over from another conversation",
        "* #5  1 message  [now]  hi",
    ]
    assert "[now]" in shown(Branches([], [(2, ("other", 9))]))[0]


@given(st.lists(st.integers(0, 1 << 16), max_size=40), st.integers(0, 40), st.integers(20, 80))
def test_every_node_is_shown_once(numbers: list[int], tip: int, width: int) -> None:
    """Each node is in one stretch, the live ones are the path to the end, and no line is wider than the screen."""
    parents = [number % (place + 1) for place, number in enumerate(numbers)]
    nodes, tip = chain(*parents), min(tip, len(parents))
    branches = Branches(nodes, [(99, ("a", tip) if tip else None)])
    path = set()
    while tip:
        path.add(tip)
        tip = parents[tip - 1]

    stretches = [stretch for _, stretch in branches.stretches()]

    assert sorted(node.key for stretch in stretches for node in stretch.nodes) == [node.key for node in nodes]
    assert {node.key[1] for stretch in stretches if stretch.live for node in stretch.nodes} == path
    assert all(cells(line) <= width for line in shown(branches, width))
