"""The log as a tree: what is a node, and where the tip is after an event.

Every event has a ``parent``: the newest *node* of the state after it, itself excluded. Conversation events and marks
are nodes: they are part of a conversation. All other events only move the tip, or do nothing to it. So

* the tip after a node is the node, and after any other event its parent;
* the state after any event is the path from its tip to the root.

Reading a state is one recursive query whose cost is proportional to the conversation, no matter how many clears,
rewinds and undos came before, and across clones: a clone's first event has a node of its source as its parent. Parents
are older than their children, so ids ascend along every path, and there is no cycle. (git does the same with commits.)

A storage engine needs to know nothing else about the model: it stores ``parent``, and follows it.
"""

# The rule itself is shared with the client, which folds logs as well.
from reel.said.kinds import NODE_KINDS, tip_after

__all__ = ["NODE_KINDS", "is_node", "tip_after"]


def is_node(kind: str) -> bool:
    """Return whether events of this kind are part of a conversation, and can be parents."""
    return kind in NODE_KINDS
