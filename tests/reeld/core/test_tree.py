"""The log as a tree: which events are nodes, and where the tip is after an event."""

import pytest

from reeld.core.tree import is_node, tip_after


@pytest.mark.parametrize("kind", ["system", "user", "assistant", "tool_call", "tool_result", "tool", "mark"])
def test_nodes_of_the_tree(kind: str) -> None:
    """A conversation event or a mark is a node, and is itself the tip, whether or not it has a parent."""
    assert is_node(kind)
    assert [7, 7] == [tip_after(7, kind, parent) for parent in (None, 3)]


@pytest.mark.parametrize("kind", ["created", "clear", "rewind", "clone", "restore", "usage", "note", "gossip", ""])
def test_events_that_only_move_the_tip(kind: str) -> None:
    """A state, inert or unknown event is not a node: the tip after it is its parent, or none."""
    assert not is_node(kind)
    assert [None, 3] == [tip_after(7, kind, parent) for parent in (None, 3)]
