"""Calls, events, commands and agents: the input of the checker."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tests.model import Marked, Said

# An agent's id, and the seq of the first event that a command wrote there.
Place = tuple[str, int]


class Call(NamedTuple):
    """One attempt of a client; times are seconds of one monotonic clock.

    Args:
        session: the client's name on this connection; events carry it.
        number: its index among the session's calls, in the order in which they were sent.
        reply: the result, or ``None`` if there was an error or no reply.
        error: the name of the error.
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
        """The idempotency key, which makes several attempts one command."""
        return self.params.get("key")

    @property
    def acknowledged(self) -> bool:
        """Whether the reply says that this attempt, or an earlier one, wrote a command."""
        return self.reply is not None and "command" in self.reply

    @property
    def repeated(self) -> bool:
        """Whether the reply is that of an earlier attempt."""
        return self.reply is not None and bool(self.reply.get("repeated"))

    @property
    def renames(self) -> bool:
        """Whether it gave an agent a new name."""
        return self.method == "change" and self.acknowledged and self.params.get("name") is not None

    @property
    def place(self) -> Place:
        """The place of its command in the reply; a cascade from a dead agent starts in another agent's log."""
        reply = self.reply or {}
        return (reply.get("killed") or [reply.get("id") or reply["agent"]])[0], reply["command"]

    @property
    def target(self) -> str:
        """The address of the agent whose log it writes to."""
        new = self.params.get("name") if self.method == "clone" else None
        return new or self.judge

    @property
    def judge(self) -> str:
        """The address of the agent whose state decides whether the call is refused."""
        return self.params.get("into") or self.agent

    @property
    def unknown(self) -> bool:
        """Whether its outcome is unknown: there was no reply, or the error ``internal``, which promises nothing."""
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
    data_json: str | None
    client: str | None

    @property
    def data(self) -> Any:
        """Its parsed data."""
        return json.loads(self.data_json or "{}")


class Command(NamedTuple):
    """The events that one command wrote, starting in this agent's log; a cascade continues in other logs."""

    agent: str
    seq: int
    events: tuple[Event, ...]

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.agent, self.seq

    @property
    def session(self) -> str | None:
        """The client's name on the connection that it came on."""
        return self.events[0].client

    @property
    def kind(self) -> str:
        """The kind of its first event."""
        return self.events[0].kind

    @property
    def heads(self) -> dict[str, int]:
        """Its last seq in each log."""
        return {event.agent: event.seq for event in self.events}

    @property
    def subject(self) -> str:
        """The agent that the call named."""
        return str(self.events[0].data.get("by", self.agent))

    def __str__(self) -> str:
        return f"{self.kind} at {self.seq} of {self.agent} by {self.session}"


class FinalAgent(NamedTuple):
    """An agent as the daemon shows it at the end."""

    agent: str
    name: str
    alive: bool
    head: int
    records: tuple[Said, ...]
    marks: tuple[Marked, ...]
    title: str | None = None
    tags: Mapping[str, str] = {}


def commands(events: Iterable[Event]) -> list[Command]:
    """Group events of all agents into commands, in the order in which they were committed."""
    groups = groupby(sorted(events, key=lambda event: event.id), key=_of_one_command)
    together = [tuple(group) for _, group in groups]
    return [Command(group[0].agent, group[0].command, group) for group in together]


def _of_one_command(event: Event) -> tuple[str, object]:
    if event.kind == "agent_killed" and event.data.get("cascade"):
        return event.data.get("by", event.agent), "cascade"
    return event.agent, event.command


def said(records: Sequence[Mapping[str, Any]]) -> tuple[Said, ...]:
    """Parse records of the wire."""
    return tuple(Said(record["seq"], record["kind"], record["content"], record["data_json"]) for record in records)


def marked(marks: Sequence[Mapping[str, Any]]) -> tuple[Marked, ...]:
    """Parse marks of the wire."""
    return tuple(Marked(mark["seq"], mark["label"]) for mark in marks)
