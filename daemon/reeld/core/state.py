"""An agent's state: its profile and its current conversation."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reeld.core.conversation import Conversation


class Source(NamedTuple):
    """What an agent was cloned from: the other's row, its id on the wire, and the position there."""

    row: int
    uid: str
    at: int


class Profile(NamedTuple):
    """An agent's row in the table of agents."""

    row: int
    uid: str
    name: str
    title: str | None
    tags: dict[str, str]
    source: Source | None
    created: int
    updated: int
    killed: int | None
    head: int

    @property
    def alive(self) -> bool:
        """Whether it accepts commands."""
        return self.killed is None

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that find it: its id, and its name unless it is killed."""
        return (self.uid, self.name) if self.alive else (self.uid,)

    def as_map(self) -> dict[str, Any]:
        """Return it in the form of the protocol."""
        shown: dict[str, Any] = {
            "id": self.uid,
            "name": self.name,
            "title": self.title,
            "tags": self.tags,
            "alive": self.alive,
            "head": self.head,
            "created": self.created,
            "updated": self.updated,
        }
        if self.source is not None:
            shown["source"] = {"agent": self.source.uid, "at": self.source.at}
        return shown


class State:
    """A profile and a conversation; only the agent's own task touches it."""

    __slots__ = ("conversation", "profile")

    def __init__(self, profile: Profile, conversation: Conversation) -> None:
        self.profile = profile
        self.conversation = conversation


def info(profile: Profile, conversation: Conversation, attached: int = 0) -> dict[str, Any]:
    """Describe an agent and its state, as the method ``agent`` does."""
    return {
        **profile.as_map(),
        "system": conversation.system,
        "messages": conversation.message_count,
        "conversation": conversation.extent.records,
        "marks": marks_as_maps(conversation),
        "open_calls": [call.as_map() for call in conversation.open_calls],
        "ready": conversation.ready,
        "attached": attached,
    }


def marks_as_maps(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the marks of a conversation in the form of the protocol, oldest first."""
    return [{"label": mark.label, "seq": mark.seq} for mark in conversation.marks]
