"""Agents that a reader must not see: those with a tag, and all that have their messages or belong to them.

A clone has what its source had, whoever has the tag now. So what counts is where the messages are from: each clone,
also one into an agent that was there, is an event whose parent is a node of the other agent. A sub-agent is told what
its agent was told. It names that one in a tag: by its name, or by the tag of an import, which stays when an agent is
renamed.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from reeld.store.connection import Connection, Numbers
from reeld.store.store import Store

_PARENT = "parent"
_IMPORT = "import"
# Only a prefilter, which is no reason to parse the tags of every agent: 100,000 of them take 40 ms.
_TAGGED = "SELECT id, tags FROM agents WHERE instr(tags, ?) > 0"
_NAMED = "SELECT name, tags FROM agents WHERE id IN (SELECT value FROM json_each(?))"
# An index has these events alone.
_CLONED = """
    SELECT DISTINCT p.agent, e.agent FROM events e JOIN events p ON p.id = e.parent
    WHERE e.kind = 'clone' AND p.agent <> e.agent
"""


async def hidden(store: Store, tag: str | None) -> frozenset[int]:
    """Return the rows of the agents that a reader without a tag must not see; none without a tag."""
    return frozenset() if tag is None else await store.read(with_tag, tag)


def with_tag(connection: Connection, tag: str) -> frozenset[int]:
    """Return the rows of the agents that have a tag, messages of one that has it, or one of these as their parent."""
    found = {row for row, _ in _having(connection, tag)}
    if not found:
        return frozenset()
    clones, children = defaultdict[int, set[int]](set), defaultdict[str, set[int]](set)
    for source, clone in connection.execute(_CLONED).fetchall():
        clones[source].add(clone)
    for row, tags in _having(connection, _PARENT):
        children[tags[_PARENT]].add(row)
    new = set(found)
    while new:
        names = _names(connection, new) if children else set[str]()
        new = set[int]().union(*(clones[row] for row in new), *(children[name] for name in names)) - found
        found |= new
    return frozenset(found)


def _having(connection: Connection, tag: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows and the tags of the agents that have a tag."""
    stored = f"{json.dumps(tag, ensure_ascii=False)}: "
    for row, text in connection.execute(_TAGGED, (stored,)).fetchall():
        tags = json.loads(text)
        if tag in tags:
            yield row, tags


def _names(connection: Connection, rows: Iterable[int]) -> set[str]:
    """Return what others may call some agents: their names, and those of their imports."""
    found = set()
    for name, tags in connection.execute(_NAMED, (Numbers(sorted(rows)),)).fetchall():
        found |= {name, json.loads(tags).get(_IMPORT, name)}
    return found
