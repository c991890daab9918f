"""What the daemon answers, as tuples whose fields are the protocol's.

A field that an older or newer daemon leaves out has its default; one that we do not know is passed over.
"""

from typing import Any, NamedTuple

from reel.messages import Event, Message, Record


class Source(NamedTuple):
    """What an agent was cloned from: the other agent's id, and the position there."""

    agent: str
    at: int


class Mark(NamedTuple):
    """A living mark."""

    label: str | None
    seq: int


class OpenCall(NamedTuple):
    """A tool call without a result."""

    id: str
    name: str
    seq: int


class Orphan(NamedTuple):
    """A result without an open call of its own."""

    id: str
    seq: int


class AgentRow(NamedTuple):
    """An agent as a list shows it: nobody is loaded for it, so there are no counts."""

    id: str
    name: str
    title: str | None
    tags: dict[str, str]
    alive: bool
    head: int
    created: int
    updated: int
    source: Source | None = None


class AgentInfo(NamedTuple):
    """An agent and its living state; ``messages`` and ``conversation`` are counts."""

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


class Added(NamedTuple):
    """``first`` is the seq of the first message; ``replaced`` counts characters that could not stay."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    replaced: int = 0
    repeated: bool = False


class Change(NamedTuple):
    """One thing that is not rendered, or not loaded, as it stood.

    ``seq`` and ``block`` say where, null for what is about no message, or about all of one; ``action`` is what
    was done: dropped, synthesized, merged, moved, renamed, downgraded or prefix_changed.
    """

    seq: int | None
    block: int | None
    action: str
    why: str


class Prefix(NamedTuple):
    """The entries of a rendered history that stay as they are whatever is added: how many, and a hash of them."""

    messages: int
    hash: str


class Rendered(NamedTuple):
    """A history in a provider's words.

    ``body`` is JSON text; ``ready`` tells whether it can be sent, else ``needs`` what is missing; ``names`` has
    the tools that are sent under another name, as a map from that to their own; ``extends`` tells whether the
    prefix of ``after`` still stands.
    """

    format: str
    at: int
    body: str
    report: list[Change]
    ready: bool
    prefix: Prefix
    needs: str | None = None
    names: dict[str, str] | None = None
    extends: bool | None = None


class Loaded(NamedTuple):
    """A history that was added; ``report`` says what of it was not, or not as it stood."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    report: list[Change]
    replaced: int = 0
    repeated: bool = False


class Moved(NamedTuple):
    """A clear or a restore; ``was`` is the head before, the seq to restore."""

    agent: str
    head: int
    command: int
    time: int
    was: int
    repeated: bool = False


class Marked(NamedTuple):
    """The mark that was set."""

    agent: str
    head: int
    command: int
    time: int
    seq: int
    label: str | None
    repeated: bool = False


class Rewound(NamedTuple):
    """``target`` is the mark's seq, ``dropped`` how many records left the conversation."""

    agent: str
    head: int
    command: int
    time: int
    target: int
    dropped: int
    was: int
    repeated: bool = False


class Undone(NamedTuple):
    """``undone`` is the command that was taken back."""

    agent: str
    head: int
    command: int
    time: int
    undone: int
    was: int
    repeated: bool = False


class Redone(NamedTuple):
    """``redone`` is the command that was brought back."""

    agent: str
    head: int
    command: int
    time: int
    redone: int
    was: int
    repeated: bool = False


class KilledAgents(NamedTuple):
    """The ids of those that died now."""

    killed: list[str]
    agent: str | None = None
    head: int | None = None
    command: int | None = None
    time: int | None = None
    repeated: bool = False


class MessagesPage(NamedTuple):
    """A page of the living messages."""

    agent: str
    head: int
    at: int
    system: str | None
    messages: list[Message]
    more: bool


class ConversationPage(NamedTuple):
    """A page of the living records, the prompt included."""

    agent: str
    head: int
    at: int
    system: str | None
    conversation: list[Record]
    more: bool


class Skipped(NamedTuple):
    """An event that stands in the log and means nothing, and why."""

    seq: int
    reason: str


class ReplayPage(NamedTuple):
    """A page read from the log; ``matched`` tells whether the running state was the same."""

    agent: str
    head: int
    at: int
    system: str | None
    marks: list[Mark]
    skipped: list[Skipped]
    more: bool
    messages: list[Message] | None = None
    conversation: list[Record] | None = None
    matched: bool | None = None


class Problem(NamedTuple):
    """Something that does not hold: a stable word for it, why, and the agent and the event that it is about."""

    what: str
    reason: str
    agent: str | None = None
    name: str | None = None
    seq: int | None = None
    id: int | None = None


class Verified(NamedTuple):
    """How many agents and events were checked, and what was found; ``omitted`` problems more than are listed."""

    agents: int
    events: int
    problems: list[Problem]
    omitted: int


class BackedUp(NamedTuple):
    """A copy of the database was written; ``bytes`` is its size."""

    path: str
    bytes: int


class HistoryPage(NamedTuple):
    """A page of the log."""

    agent: str
    head: int
    events: list[Event]
    more: bool


class Subscribed(NamedTuple):
    """A subscription has begun; ``head`` is the agent's, or the newest event's id where all are followed."""

    sub: int
    head: int
    agent: str | None = None


class Waited(NamedTuple):
    """What a wait brought: events later than ``since``, or none in time."""

    head: int
    events: list[Event]


class AgentsPage(NamedTuple):
    """A page of the list of agents."""

    agents: list[AgentRow]
    more: bool


class MethodInfo(NamedTuple):
    """A method of the daemon: its parameters in order, those that may be left out with a question mark."""

    name: str
    params: list[str]
    summary: str


class Hello(NamedTuple):
    """Who answers, and what both sides agreed on."""

    server: dict[str, Any]
    protocol: int
    framing: str
    connection: int
    features: list[str]
    limits: dict[str, int]
