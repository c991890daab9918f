"""A tree of places; that a log is folded as the daemon does it is tested by tests/reeld/core/test_machine.py."""

import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reel.reading.log_tree import LogTree


def event(seq: int, parent: int | None, kind: str = "user", command: int | None = None, of: str = "a") -> Any:
    """Return an event of an agent, whose parent is one of ``of``."""
    above = None if parent is None else {"agent": of, "seq": parent}
    return {"agent": "a", "seq": seq, "command": command or seq, "kind": kind, "parent": above}


def test_a_path_ends_where_the_log_does() -> None:
    """What a clone brought is a parent that is not in the tree, until somebody adds it."""
    tree = LogTree()
    tree.fold(event(5, 9, "clone", of="b"))
    tree.fold(event(6, 9, of="b"))

    assert [("a", 6), ("b", 9)] == [*tree.path(tree.tip)]
    assert ("b", 9) not in tree
    tree.add(("b", 9), ("b", 3))
    assert [("a", 6), ("b", 9), ("b", 3)] == [*tree.path(tree.tip)]


def test_a_node_that_is_added_again() -> None:
    """The tree has it once, with its last parent."""
    tree = LogTree()
    tree.add(("a", 3), None)
    tree.add(("a", 3), ("a", 1))
    tree.add(("a", 3), ("a", 2))

    assert ("a", 2) == tree.parent(("a", 3))
    assert tree.parent(("a", 4)) is None


def test_a_damaged_log_that_leads_in_a_circle() -> None:
    """A parent that is not older ends the path."""
    tree = LogTree()
    tree.fold(event(2, 3))
    tree.fold(event(3, 2))

    assert [("a", 3), ("a", 2)] == [*tree.path(tree.tip)]


def test_the_end_of_a_command() -> None:
    """After each event of a command, the conversation is that after the whole command; before all, it is empty."""
    tree = LogTree()
    for each in (event(1, None, "created"), event(2, None, command=2), event(3, 2, command=2), event(4, 2, "rewind")):
        tree.fold(each)

    assert [None, None, ("a", 3), ("a", 3), ("a", 2), ("a", 2)] == [tree.tip_at(seq) for seq in range(6)]


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(1, 9))))
def test_nodes_in_any_order(added: list[tuple[int, int | None]]) -> None:
    """Each node has the parent that it was given last, whenever its neighbours were added."""
    tree, parents = LogTree(), dict(added)
    for seq, parent in added:
        tree.add(("a", seq), ("a", parent) if parent else None)

    # A parent that is not older ends the path.
    older = {
        seq: ("a", parent) if parent else None for seq, parent in parents.items() if parent is None or parent < seq
    }
    assert older == {seq: tree.parent(("a", seq)) for seq in older}
    for place in range(1, 10):
        after = [seq for seq in sorted(parents) if parents[seq] == place < seq]
        assert after == [seq for _, seq in tree.children(("a", place))]


def test_memory_of_a_node() -> None:
    """A node that follows the one before is a number of four bytes."""
    tree, number = LogTree(), 20_000
    tracemalloc.start()
    try:
        for seq in range(1, number):
            tree.add(("a", seq), ("a", seq - 1) if seq > 1 else None)
        assert 6 > tracemalloc.get_traced_memory()[0] / number
    finally:
        tracemalloc.stop()
