"""``reel tree``."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reel.cli.commands.tree import layout
from reel.reading.branches import Branches
from reel.reading.wording import cells
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel


def shown(branches: Branches, width: int | None = None) -> list[str]:
    """Return the lines of a tree."""
    lines = (layout(branch, stretch, width) for branch, stretch in branches.stretches())
    return ["".join(span if isinstance(span, str) else span[0] for span in line) for line in lines]


def place(seq: int, agent: str = "a") -> Any:
    """Return a parent; 0 is the beginning."""
    return {"agent": agent, "seq": seq} if seq else None


def event(seq: int, parent: Any, kind: str = "user") -> Any:
    """Return an event of the log."""
    fields = {"content": f"word {seq}", "data_json": None, "parent": parent}
    return {"agent": "a", "seq": seq, "command": seq, "kind": kind, **fields}


def tree(*parents: int, end: int | None = None) -> Branches:
    """Return the tree of messages 1, 2, ... with these parents, which goes back to ``end``."""
    branches = Branches()
    branches.add(event(seq, place(parent)) for seq, parent in enumerate(parents, 1))
    if end is not None:
        branches.add([event(99, place(end), "restore")])
    return branches


def test_rewound_undone_and_cloned(reel: Reel, client: Client, name: str) -> None:
    """What was left behind is a branch, with the seqs to go back to, the mark, the clone and the end."""
    client.add(name, ["A"], create=True)
    client.mark(name, "m")
    client.add(name, "B")
    client.rewind(name, "m")
    client.add(name, ["C", "D"])
    client.clone(name, f"{name}-2")
    client.add(f"{name}-2", "own")

    assert [
        "* #2-#3  1 message  [mark m #3]  A",
        "  ├─ #4  1 message  B",
        f"* #6-#7  2 messages  [now]  [clone {name}-2 at #7]  C",
    ] == reel("tree", name).out.splitlines()
    (*_, last) = reel("tree", f"{name}-2", "--json").documents
    assert (True, True, 3, 3) == (last["live"], last["now"], last["messages"], last["parent"]["seq"])
    client.clear(name)
    assert "* (beginning) now" == reel("tree", name).out.splitlines()[0]


def test_what_was_undone_is_below_the_end() -> None:
    """The conversation ends where its undone messages branch off."""
    assert ["* #1  1 message  [now]  word 1", "  └─ #2-#3  2 messages  word 2"] == shown(tree(0, 1, 2, end=1))


def test_taken_over_from_elsewhere() -> None:
    """A conversation that continues one which is not in the log begins with a line for that."""
    branches, only = Branches(), Branches()
    branches.add([event(5, place(9, "other"))])
    only.add([event(2, place(9, "other"), "clone")])

    assert [
        "* #9  0 messages  taken over from another conversation",
        "* #5  1 message  [now]  word 5",
    ] == shown(branches)
    assert "[now]" in shown(only)[0]


@given(st.lists(st.integers(0, 1 << 16), max_size=40), st.integers(0, 40), st.integers(20, 80))
def test_every_node_is_shown_once(numbers: list[int], tip: int, width: int) -> None:
    """Each node is in one stretch, the live ones are the path to the end, and no line is wider than the screen."""
    parents = [number % (place + 1) for place, number in enumerate(numbers)]
    tip = min(tip, len(parents))
    branches = tree(*parents, end=tip)
    path = set()
    while tip:
        path.add(tip)
        tip = parents[tip - 1]

    stretches = [stretch for _, stretch in branches.stretches()]

    found = sorted(node.key for stretch in stretches for node in stretch.nodes)
    assert found == [("a", seq) for seq in range(1, len(parents) + 1)]
    assert {node.key[1] for stretch in stretches if stretch.live for node in stretch.nodes} == path
    assert all(cells(line) <= width for line in shown(branches, width))
