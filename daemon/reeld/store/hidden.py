"""Agents that a reader must not see: those with a tag, and all that have their messages or belong to them.

A clone has what its source had, even if only the source has the tag. So what counts is where the messages come from:
each clone, also one into an existing agent, is an event whose parent is a node of the other agent. A sub-agent is told
what its agent was told. A tag of it names that agent: by its name, or by the tag of an import, which stays when an
agent is renamed. Digests of all this outlive a purge, so that a purge makes nothing visible.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from reeld.store.connection import Connection, Numbers
from reeld.store.remains import PARENT, Remains, digest, remains_of
from reeld.store.store import Store

# Only a prefilter: it avoids parsing the tags of every agent. 100,000 agents take 40 ms.
_TAGGED = "SELECT id, name, tags FROM agents WHERE instr(tags, ?) > 0"
_PURGED = "SELECT id, name, tags FROM agents WHERE name = '' AND tags <> '{}'"
_NAMED = "SELECT id, name, tags FROM agents WHERE id IN (SELECT value FROM json_each(?))"
# There is an index of these events alone.
_CLONED = """
    SELECT DISTINCT p.agent, e.agent FROM events e JOIN events p ON p.id = e.parent
    WHERE e.kind = 'clone' AND p.agent <> e.agent
"""


async def hidden(store: Store, tag: str | None) -> frozenset[int]:
    """Return the rows of the agents that a reader without a tag must not see; none without a tag."""
    return frozenset() if tag is None else await store.read(with_tag, tag)


def with_tag(connection: Connection, tag: str) -> frozenset[int]:
    """Return the rows of the agents that have a tag, messages of one that has it, or one of these as their parent."""
    found = set(_having(connection, tag))
    if not found:
        return frozenset()
    clones, children = defaultdict[int, set[int]](set), defaultdict[str, set[int]](set)
    for source, clone in connection.execute(_CLONED).fetchall():
        clones[source].add(clone)
    for row, remains in _read(connection, _TAGGED, f'"{PARENT}": '):
        if remains.parent is not None:
            children[remains.parent].add(row)
    new = set(found)
    while new:
        names = _names(connection, new) if children else set[str]()
        new = set[int]().union(*(clones[row] for row in new), *(children[name] for name in names)) - found
        found |= new
    return frozenset(found)


def _having(connection: Connection, tag: str) -> Iterator[int]:
    """Yield the rows of the agents that have a tag, or had it when they were purged."""
    for row, name, tags in connection.execute(_TAGGED, (f"{json.dumps(tag, ensure_ascii=False)}: ",)).fetchall():
        if name and tag in json.loads(tags):
            yield row
    for row, remains in _read(connection, _PURGED):
        if digest(tag) in remains.tags:
            yield row


def _names(connection: Connection, rows: Iterable[int]) -> set[str]:
    """Return digests of the names by which tags may name some agents: their own, and those of their imports."""
    return set[str]().union(*(remains.names for _, remains in _read(connection, _NAMED, Numbers(sorted(rows)))))


def _read(connection: Connection, query: str, *parameters: str | Numbers) -> Iterator[tuple[int, Remains]]:
    for row, name, tags in connection.execute(query, parameters).fetchall():
        yield row, remains_of(name, tags)
