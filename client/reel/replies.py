"""What the daemon replies, as tuples whose fields are those of the protocol.

A field that an older or newer daemon leaves out has its default. A field that is not known here is ignored.
"""

from __future__ import annotations

from reel.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reel.messages import Event, Item, Message, Record


class Source(NamedTuple):
    """What an agent was cloned from: the id of the other agent, and the position there."""

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


class Orphan(NamedTuple):
    """A result that has no open call."""

    id: str
    seq: int


class AgentRow(NamedTuple):
    """An agent in a list. The fields after ``source`` are there only if they were asked for.

    ``messages`` is at most 1,000: the daemon counts no further. ``first_words`` is the beginning of a user's first
    text. ``turn`` says who comes next: ``user``, ``assistant`` or ``tool``. ``drafts`` has the names of the clients
    that are writing. ``values`` are those that are kept beside the conversation; if there are more, ``next`` is what
    ``state`` takes as ``after``.
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
    # What `revive` says with `cascade`: the ids that were revived, and those whose name another agent has.
    revived: list[str] | None = None
    taken: list[str] | None = None


class Known(NamedTuple):
    """A message that was there already: its index among those to add, and the seq of the event that has its ``ref``."""

    index: int  # type: ignore[assignment]  # hides a method of tuples; the protocol names the field so
    seq: int


class Added(NamedTuple):
    """Messages were added: ``first`` is the seq of the first one; 0 if none were.

    ``replaced`` says how many characters were replaced, ``numbers_as_text`` how many numbers messages have as text. If
    messages were replaced, ``dropped`` says how many records left the conversation, and ``was`` is the head before, the
    seq to restore. ``known`` lists the messages that were there already. If nothing was written, ``command`` and
    ``time`` are 0.
    """

    agent: str
    head: int
    command: int
    time: int
    first: int
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()


class PartResult(NamedTuple):
    """What one part of a command on several agents has written to its agent; the fields are those of `Added`.

    ``name`` is that of an agent that was created. ``first`` is the seq of the first message that was added.
    """

    agent: str
    head: int
    command: int = 0
    time: int = 0
    name: str | None = None
    first: int = 0
    seqs: Sequence[int] = ()
    replaced: int = 0
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()


class Committed(NamedTuple):
    """A command on several agents was carried out: the result of each part.

    ``agent``, ``head`` and ``command`` are those of the first agent that got something. If nothing was written,
    ``command`` and ``time`` are 0.
    """

    agent: str
    head: int
    results: list[PartResult]
    command: int = 0
    time: int = 0
    repeated: bool = False


class AddedItems(NamedTuple):
    """Items were added: ``seqs`` has the seq of each, also of one that was there already; the rest is as in `Added`."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    seqs: list[int]
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()


class Change(NamedTuple):
    """One thing that was changed when a conversation was rendered, or a history loaded.

    ``seq`` is the message and ``block`` the block in it; ``None`` if the change is about no message, or about all of
    one. ``action`` is dropped, synthesized, merged, moved, renamed, downgraded or prefix_changed.
    """

    seq: int | None
    block: int | None
    action: str
    why: str


class Prefix(NamedTuple):
    """The items of a rendered history that no later message changes: how many, and a hash of them."""

    messages: int
    hash: str


class Rendered(NamedTuple):
    """A conversation as the body of a provider's request.

    ``body`` is JSON text. ``ready`` is whether it can be sent; if not, ``needs`` says what is missing. ``names`` maps
    the names under which tools are sent, if these differ, to their own. ``extends`` is whether the prefix that was
    given as ``after`` is unchanged. ``omitted`` is how many older changes ``report`` leaves out.
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
    omitted: int = 0


class Loaded(NamedTuple):
    """A history was added; ``report`` lists what of it was left out or changed."""

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
    numbers_as_text: int = 0


class Moved(NamedTuple):
    """The conversation was cleared or restored; ``was`` is the head before, the seq to restore."""

    agent: str
    head: int
    command: int
    time: int
    was: int
    repeated: bool = False


class Marked(NamedTuple):
    """A mark was set."""

    agent: str
    head: int
    command: int
    time: int
    seq: int
    label: str | None
    repeated: bool = False


class Rewound(NamedTuple):
    """The conversation was rewound to ``target``, the mark's seq; ``dropped`` records left it."""

    agent: str
    head: int
    command: int
    time: int
    target: int
    dropped: int
    was: int
    repeated: bool = False


class Undone(NamedTuple):
    """The command ``undone`` was undone."""

    agent: str
    head: int
    command: int
    time: int
    undone: int
    was: int
    repeated: bool = False


class Redone(NamedTuple):
    """The command ``redone`` was redone."""

    agent: str
    head: int
    command: int
    time: int
    redone: int
    was: int
    repeated: bool = False


class Place(NamedTuple):
    """An event: its agent's id, and its seq."""

    agent: str
    seq: int


class ErasedBackup(NamedTuple):
    """What was erased in a backup: how many events."""

    path: str
    events: int


class Redacted(NamedTuple):
    """What ``redact`` replies; without ``command`` and ``time`` if nothing was written."""

    agent: str
    head: int
    # How many events were changed, and the first thousand of them. One counts several times if several requests were
    # needed, and there are more.
    redacted: int
    events: list[Place]
    # The ids of all agents that had what was redacted in their past.
    affected: list[str]
    command: int | None = None
    time: int | None = None
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
    traces: bool = False
    repeated: bool = False
    # The path of each backup that was named, and how many of its events were changed or removed.
    backups: list[ErasedBackup] | tuple[()] = ()
    # What matched, if there was a pattern.
    texts: list[str] | tuple[()] = ()


class Purged(NamedTuple):
    """What ``purge`` replies; without ``time`` if it was a dry run."""

    agent: str
    head: int
    # The ids of the agents that are gone, and how many events.
    purged: list[str]
    events: int
    # How many of their events stay, because they are part of what the heirs took over; and the ids of these.
    kept: int
    heirs: list[str]
    time: int | None = None
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
    traces: bool = False
    repeated: bool = False
    # The path of each backup that was named, and how many of its events were changed or removed.
    backups: list[ErasedBackup] | tuple[()] = ()


class OldAgent(NamedTuple):
    """An agent that is older than the settings allow."""

    id: str
    name: str
    updated: int


class Retained(NamedTuple):
    """What ``retention`` replies: the agents that are too old, and what is gone of them."""

    agents: list[OldAgent]
    purged: list[str]
    events: int
    kept: int
    heirs: list[str]
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
    traces: bool = False


class KilledAgents(NamedTuple):
    """The ids of the agents that were killed by this command."""

    killed: list[str]
    agent: str | None = None
    head: int | None = None
    command: int | None = None
    time: int | None = None
    repeated: bool = False


class MessagesPage(NamedTuple):
    """A page of the messages of the current conversation."""

    agent: str
    head: int
    at: int
    system: str | None
    messages: list[Message]
    more: bool


class ItemsPage(NamedTuple):
    """A page of the current conversation in a provider's words.

    ``erasures`` is how many erasures the daemon has carried out since it started. If it is greater than with an earlier
    page, what was kept of that page may have been erased.
    """

    agent: str
    head: int
    at: int
    system: str | None
    items: list[Item]
    more: bool
    erasures: int


class ConversationPage(NamedTuple):
    """A page of the records of the current conversation, the prompt included."""

    agent: str
    head: int
    at: int
    system: str | None
    conversation: list[Record]
    more: bool


class Skipped(NamedTuple):
    """An event of the log that has no effect, and why."""

    seq: int
    reason: str


class ReplayPage(NamedTuple):
    """A page of the state that was read from the log; ``matched`` is whether the live state was the same."""

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
    """Damage that was found: a stable name for it, the reason, and the agent and event that it is about."""

    what: str
    reason: str
    agent: str | None = None
    name: str | None = None
    seq: int | None = None
    id: int | None = None


class Verified(NamedTuple):
    """How many agents and events were checked, and what was found; ``omitted`` further problems are not listed."""

    agents: int
    events: int
    problems: list[Problem]
    omitted: int


class BackedUp(NamedTuple):
    """A copy of the database was written; ``bytes`` is its size.

    The others are what checking it has found, as in :class:`Verified`; an older daemon does not check it.
    """

    path: str
    bytes: int
    agents: int | None = None
    events: int | None = None
    problems: Sequence[Problem] = ()
    omitted: int = 0


class Value(NamedTuple):
    """A value that is kept beside a conversation; ``seq`` is that of the event that has set it.

    ``value`` is ``None`` as well if the file is damaged there.
    """

    key: str
    value: Any
    seq: int
    time: int
    damaged: bool = False


class StatePage(NamedTuple):
    """A page of the values of an agent; if there are ``more``, ``next`` is what the next page takes as ``after``."""

    agent: str
    head: int
    at: int
    values: list[Value]
    more: bool
    next: str | None = None


class HistoryPage(NamedTuple):
    """A page of the log."""

    agent: str
    head: int
    events: list[Event]
    more: bool


class Subscribed(NamedTuple):
    """A subscription has begun; ``head`` is the agent's, or the id of the newest event if all agents are followed."""

    sub: int
    head: int
    agent: str | None = None


class Waited(NamedTuple):
    """The events later than ``since``; none if the time ran out."""

    head: int
    events: list[Event]


class AgentsPage(NamedTuple):
    """A page of the list of agents."""

    agents: list[AgentRow]
    more: bool


class Hit(NamedTuple):
    """A message, prompt, note or title that was found.

    ``snippet`` is a piece of its text, ``matches`` has the places of the matches in it, as pairs of begin and end in
    characters. ``live`` is whether it is in the current conversation of its agent. ``role`` is ``None`` for a note and
    for a name or title. ``id`` is the id of the event.
    """

    agent: str
    name: str
    title: str | None
    seq: int
    role: str | None
    kind: str
    time: int
    live: bool
    snippet: str
    matches: list[list[int]]
    score: float
    id: int
    sent: int | None = None


class HitsPage(NamedTuple):
    """A page of hits. It may have fewer than asked for, or none, although there are ``more``: a search takes a second.

    ``next`` is what to give as ``after`` for the next page. ``behind`` is how many events are not in the index yet.
    """

    hits: list[Hit]
    more: bool
    behind: int
    next: str | None = None


class MethodInfo(NamedTuple):
    """A method of the daemon: its parameters in order, the optional ones with a question mark."""

    name: str
    params: list[str]
    summary: str


class Hello(NamedTuple):
    """Which daemon answers, and what both sides agreed on."""

    server: dict[str, Any]
    protocol: int
    framing: str
    connection: int
    features: list[str]
    limits: dict[str, int]
