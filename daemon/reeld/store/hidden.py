"""Agents that a reader must not see: those with a tag, and all that have their messages because they were cloned.

A clone has what its source had, whoever has the tag now. So what counts is where the messages are from: each clone,
also one into an agent that was there, is an event whose parent is a node of the other agent.
"""

import json
from collections import defaultdict

from reeld.store.connection import Connection
from reeld.store.store import Store

# Only a prefilter, which is no reason to parse the tags of every agent: 100,000 of them take 40 ms.
_TAGGED = "SELECT id, tags FROM agents WHERE instr(tags, ?) > 0"
# An index has these events alone.
_CLONED = """
    SELECT DISTINCT p.agent, e.agent FROM events e JOIN events p ON p.id = e.parent
    WHERE e.kind = 'clone' AND p.agent <> e.agent
"""


async def hidden(store: Store, tag: str | None) -> frozenset[int]:
    """Return the rows of the agents that a reader without a tag must not see; none without a tag."""
    return frozenset() if tag is None else await store.read(with_tag, tag)


def with_tag(connection: Connection, tag: str) -> frozenset[int]:
    """Return the rows of the agents that have a tag, or messages of one that has it."""
    stored = f"{json.dumps(tag, ensure_ascii=False)}: "
    found = {row for row, tags in connection.execute(_TAGGED, (stored,)).fetchall() if tag in json.loads(tags)}
    if not found:
        return frozenset()
    clones = defaultdict(list)
    for source, clone in connection.execute(_CLONED).fetchall():
        clones[source].append(clone)
    waiting = list(found)
    while waiting:
        new = set(clones[waiting.pop()]) - found
        found |= new
        waiting += new
    return frozenset(found)
