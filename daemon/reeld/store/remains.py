"""What is kept of a purged agent while others have its messages or belong to it, to tell who must not see these.

Only digests are kept: they tell whether a text is the same, and not what it says.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b

from reel.base.light_typing import NamedTuple

# The tags that name the agent to which a sub-agent belongs, and the import of an agent, which stays when it is renamed.
PARENT = "parent"
_IMPORT = "import"
# What no address of an agent begins with.
DIGEST = "#"
_TAGS, _NAMES = "tags", "names"


class Remains(NamedTuple):
    """Digests of the tags of an agent, of the names by which tags may name it, and of its own parent, if it has one."""

    tags: frozenset[str]
    names: frozenset[str]
    parent: str | None


def digest(text: str) -> str:
    """Return what is stored in place of an erased text: it still tells whether another one equals it."""
    return f"{DIGEST}{blake2b(text.encode(), digest_size=16).hexdigest()}"


def remains_of(name: str, tags_json: str) -> Remains:
    """Return what remains of an agent, by its name, which is empty after a purge, and the tags that are stored."""
    tags: Mapping[str, str] = json.loads(tags_json)
    parent = tags.get(PARENT)
    if not name:
        return Remains(
            frozenset(tags.get(_TAGS, "").split()), frozenset(tags.get(_NAMES, "").split()), tags.get(PARENT)
        )
    names = {name, tags.get(_IMPORT, name)}
    return Remains(frozenset(map(digest, tags)), frozenset(map(digest, names)), parent and digest(parent))


def to_store(remains: Remains) -> str:
    """Return what is stored in place of the tags of a purged agent; nothing if it had none."""
    if not remains.tags:
        return "{}"
    kept = {_TAGS: " ".join(sorted(remains.tags)), _NAMES: " ".join(sorted(remains.names))}
    return json.dumps(kept if remains.parent is None else {**kept, PARENT: remains.parent})
