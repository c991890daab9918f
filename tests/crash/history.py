"""What clients asked and were told, and what the log says: the material of the checker."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tests.model import Marked, Said


class Call(NamedTuple):
    """One attempt of a client; times are of one monotonic clock, in seconds.

    Args:
        session: the name that the client gave on this connection; events carry it.
        number: its place among the session's calls, in the order in which they were sent.
        reply: what was answered, ``None`` where it was refused or nothing was heard.
        error: the name of the error that refused it.
    """

    session: str
    number: int
    method: str
    agent: str
    params: Mapping[str, Any]
    sent: float
    answered: float = math.inf
    reply: Mapping[str, Any] | None = None
    error: str | None = None
    data: Mapping[str, Any] = {}

    @property
    def key(self) -> str | None:
        """What makes several attempts one command."""
        return self.params.get("key")

    @property
    def acknowledged(self) -> bool:
        """Whether something was written for it, then or at an earlier attempt."""
        return self.reply is not None and "command" in self.reply

    @property
    def target(self) -> str:
        """The name of the agent whose log it writes to."""
        return self.params.get("name") or self.params.get("into") or self.agent

    @property
    def judge(self) -> str:
        """The name of the agent that decides whether it is possible."""
        return self.params.get("into") or self.agent

    @property
    def unknown(self) -> bool:
        """Whether nobody can say what became of it; ``internal`` promises nothing either."""
        return self.reply is None and self.error in {None, "internal"}

    def __str__(self) -> str:
        return f"{self.session}#{self.number} {self.method} {self.agent} {dict(self.params)}"


class Event(NamedTuple):
    """A row of the log."""

    id: int
    agent: str
    seq: int
    command: int
    kind: str
    content: str | None
    data: Mapping[str, Any]
    client: str | None


class Command(NamedTuple):
    """The events that one command wrote."""

    agent: str
    seq: int
    events: tuple[Event, ...]

    @property
    def kind(self) -> str:
        """The kind of its first event."""
        return self.events[0].kind

    @property
    def head(self) -> int:
        """The last of its seqs."""
        return self.events[-1].seq

    def __str__(self) -> str:
        return f"{self.kind} at {self.seq} of {self.agent} by {self.events[0].client}"


class Living(NamedTuple):
    """An agent as the daemon shows it after all."""

    agent: str
    name: str
    alive: bool
    head: int
    records: tuple[Said, ...]
    marks: tuple[Marked, ...]


def commands(events: Iterable[Event]) -> list[Command]:
    """Group events of all agents into commands, in the order in which they were committed."""
    ordered = sorted(events, key=lambda event: event.id)
    return [
        Command(agent, seq, tuple(group))
        for (agent, seq), group in groupby(ordered, key=lambda event: (event.agent, event.command))
    ]


def said(records: Sequence[Mapping[str, Any]]) -> tuple[Said, ...]:
    """Read records as they come over the wire."""
    return tuple(Said(record["seq"], record["kind"], record["content"], record["data_json"]) for record in records)


def marked(marks: Sequence[Mapping[str, Any]]) -> tuple[Marked, ...]:
    """Read marks as they come over the wire."""
    return tuple(Marked(mark["seq"], mark["label"]) for mark in marks)
