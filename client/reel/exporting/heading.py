"""What is written above an exported conversation."""

from datetime import UTC, datetime
from typing import NamedTuple


class Heading(NamedTuple):
    """What is written above an exported conversation.

    Args:
        name: the agent's name.
        title: its title, if it has one.
        tags: its tags.
        system: the system prompt, if there is one.
        at: the seq up to which it was exported.
    """

    name: str
    title: str | None
    tags: dict[str, str]
    system: str | None
    at: int


def shown_time(milliseconds: int) -> str:
    """Return a time as people read it: in UTC, because who reads it may be anywhere."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
