"""The name of the agent that stores a session of a framework."""

import unicodedata
from hashlib import sha256

from reel.base.errors import InvalidParams
from reel.base.ids import is_name
from reel.base.light_typing import NamedTuple

# The start of a session's name if its id is not a valid name.
_HASHED = "sha256-"
# The digits of the hash in a name: 128 bits.
_DIGITS = 32
# The protocol's limit for the value of a tag, in characters.
_LONGEST_TAG = 1024
# Control characters and lone surrogates, which tags display badly or cannot hold.
_UNSHOWN = ("Cc", "Cs")


class Named(NamedTuple):
    """The name of an agent, and the tags that it is created with."""

    name: str
    tags: dict[str, str]


def named(prefix: str, session_id: str) -> Named:
    """Return the name of the agent of a session.

    It is the prefix and the id if that is a valid name. Otherwise it ends with a hash of the id, and the tag
    ``session_id`` holds the id itself.

    Args:
        prefix: the prefix of the name.
        session_id: the framework's id, any text.

    Raises:
        InvalidParams: the id is not a string, or the prefix is not valid in a name.
    """
    if not isinstance(session_id, str):
        raise InvalidParams(f"session_id: expected a string, got a {type(session_id).__name__}", field="session_id")
    hashed = f"{prefix}{_HASHED}{sha256(session_id.encode(errors='surrogatepass')).hexdigest()[:_DIGITS]}"
    if not is_name(hashed):
        raise InvalidParams(f"prefix: no name of an agent can begin with {prefix!r}; use another one", field="prefix")
    # An id that looks like a hash is hashed too, so that it never equals the name of another session.
    if is_name(prefix + session_id) and not session_id.startswith(_HASHED):
        return Named(prefix + session_id, {})
    return Named(hashed, {"session_id": tag_value(session_id)})


def is_hashed(name: str) -> bool:
    """Whether a name consists of a prefix and the hash of an id."""
    return name.startswith(_HASHED)


def tag_value(text: str) -> str:
    """Return the beginning of a text as the value of a tag."""
    begin = text[:_LONGEST_TAG]
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNSHOWN else c for c in begin)
