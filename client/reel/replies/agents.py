"""An agent in a list, its current state, and the replies to queries about it."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Source(NamedTuple):
    """The source of a clone: the id of the other agent, and the position there."""

    agent: str
    at: int


class Mark(NamedTuple):
    """A mark in the current conversation."""

    label: str | None
    seq: int


class OpenCall(NamedTuple):
    """A tool call without a result."""

    id: str
    name: str
    seq: int


class Value(NamedTuple):
    """A value that is stored beside a conversation; ``seq`` is that of the event that set it.

    ``value`` is ``None`` as well if the file is damaged there.
    """

    key: str
    value: Any
    seq: int
    time: int
    damaged: bool = False


class AgentRow(NamedTuple):
    """An agent in a list. The fields after ``source`` are present only if they were requested.

    ``messages`` is at most 1,000: the daemon counts no further. ``first_words`` is the beginning of a user's first
    text. ``said`` is when the newest message was said. ``turn`` says whose turn is next: ``user``, ``assistant`` or
    ``tool``. ``waits`` says what a person is to approve or answer, if the conversation waits for that. ``drafts`` has
    the names of the clients that are writing. ``values`` are those that are stored beside the conversation; if there
    are more, ``next`` is the value of ``after`` for ``state``. ``short`` is the shortest form of the name that stands
    for no other agent, which the ``short`` of the request takes.
    """

    id: str
    name: str
    title: str | None
    tags: dict[str, str]
    alive: bool
    head: int
    created: int
    updated: int
    source: Source | None = None
    messages: int | None = None
    first_words: str | None = None
    turn: str | None = None
    drafts: list[str | None] | None = None
    values: list[Value] | None = None
    next: str | None = None
    said: int | None = None
    short: str | None = None
    waits: str | None = None

    @property
    def shown(self) -> str:
        """The name as people read it: its short form, if the list has it."""
        return self.short or self.name


class AgentInfo(NamedTuple):
    """An agent and its current state; ``messages`` and ``conversation`` are counts."""

    id: str
    name: str
    title: str | None
    tags: dict[str, str]
    alive: bool
    head: int
    created: int
    updated: int
    system: str | None
    messages: int
    conversation: int
    marks: list[Mark]
    open_calls: list[OpenCall]
    ready: bool
    attached: int
    source: Source | None = None
    command: int | None = None
    time: int | None = None
    repeated: bool = False
    # The result of `revive` with `cascade`: the ids that were revived, and those whose name belongs to another agent.
    revived: list[str] | None = None
    taken: list[str] | None = None


class AgentsPage(NamedTuple):
    """A page of the list of agents."""

    agents: list[AgentRow]
    more: bool


class KilledAgents(NamedTuple):
    """The ids of the agents that were killed by this command."""

    killed: list[str]
    agent: str | None = None
    head: int | None = None
    command: int | None = None
    time: int | None = None
    repeated: bool = False
