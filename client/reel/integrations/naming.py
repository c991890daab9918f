"""The name of the agent that has a session of a framework."""

import unicodedata
from hashlib import sha256
from typing import NamedTuple

from reel.errors import InvalidParams
from reel.ids import is_name

# What the name of a session begins with if its id cannot be a name.
_HASHED = "sha256-"
# The digits of the hash in a name: 128 bits.
_DIGITS = 32
# The protocol's limit for the value of a tag, in characters.
_LONGEST_TAG = 1024
# Control characters and lone surrogates, which a tag would show badly or not have at all.
_UNSHOWN = ("Cc", "Cs")


class Named(NamedTuple):
    """The name of an agent, and the tags that it is created with."""

    name: str
    tags: dict[str, str]


def named(prefix: str, session_id: str) -> Named:
    """Return the name of the agent of a session.

    It is the prefix and the id if that can be a name. Otherwise it ends with a hash of the id, and the tag
    ``session_id`` has the id itself.

    Args:
        prefix: what the name begins with.
        session_id: the framework's id, any text.

    Raises:
        InvalidParams: the id is not a text, or no name can begin with the prefix.
    """
    if not isinstance(session_id, str):
        raise InvalidParams(f"session_id: expected a string, got a {type(session_id).__name__}", field="session_id")
    hashed = f"{prefix}{_HASHED}{sha256(session_id.encode(errors='surrogatepass')).hexdigest()[:_DIGITS]}"
    if not is_name(hashed):
        raise InvalidParams(f"prefix: no name of an agent can begin with {prefix!r}; use another one", field="prefix")
    # An id that looks like a hash is hashed as well, so that it is never the name of another session.
    if is_name(prefix + session_id) and not session_id.startswith(_HASHED):
        return Named(prefix + session_id, {})
    return Named(hashed, {"session_id": tag_value(session_id)})


def is_hashed(name: str) -> bool:
    """Whether what follows the prefix in a name is the hash of an id."""
    return name.startswith(_HASHED)


def tag_value(text: str) -> str:
    """Return the beginning of a text as the value of a tag."""
    begin = text[:_LONGEST_TAG]
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNSHOWN else c for c in begin)
