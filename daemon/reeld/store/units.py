"""What is written together or not at all."""

from typing import NamedTuple

from reeld.core.events import Draft
from reeld.core.state import Profile


class Key(NamedTuple):
    """A command's idempotency key, the digest of what it asked for, and the reply to repeat.

    ``agent`` is the row of the agent whose log has the command, ``about`` that of the agent that was asked for, by
    ``address``: a clone is about its source.
    """

    key: str
    agent: int
    command: int
    digest: bytes
    reply: bytes
    address: str | None
    about: int


class Part(NamedTuple):
    """The drafts of one agent, and its profile as it is after them; ``new`` where it is not in the list yet."""

    profile: Profile
    drafts: list[Draft]
    new: bool = False
    # The name, title, tags or death changed: more than head and time must be written.
    changed: bool = False


class Unit(NamedTuple):
    """One or several commands that succeed or fail together."""

    parts: list[Part]
    keys: list[Key]
