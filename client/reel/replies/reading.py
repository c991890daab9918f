"""Pages of the content of agents, and of search hits."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reel.replies.agents import Mark, Value
    from reel.said.messages import Event, Item, Message, Record


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


class StatePage(NamedTuple):
    """A page of the values of an agent; if there are ``more``, ``next`` is the ``after`` of the next page."""

    agent: str
    head: int
    at: int
    values: list[Value]
    more: bool
    next: str | None = None


class HistoryPage(NamedTuple):
    """A page of the log.

    ``erasures`` is how many erasures the daemon has carried out since it started; 0 if it does not say so. What the log
    of a clone has of its source may have been erased if it is greater than with an earlier page.
    """

    agent: str
    head: int
    events: list[Event]
    more: bool
    erasures: int = 0


class HistoriesPage(NamedTuple):
    """A page of the logs of several agents."""

    events: list[Event]
    more: bool


class Hit(NamedTuple):
    """A message, prompt, note or title that was found.

    ``snippet`` is a piece of its text, ``matches`` has the places of the matches in it, as pairs of begin and end in
    characters. ``live`` is whether it is in the current conversation of its agent. ``role`` is ``None`` for a note and
    for a name or title. ``id`` is the id of the event. ``without`` are the words of the query that it lacks,
    if hits are ranked. ``thinking`` is whether words that were found are only in what a model thought, and the snippet
    leaves that out, as it was asked to. ``text`` is the whole text, if candidates were asked for.
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
    without: list[str] | None = None
    thinking: bool | None = None
    text: str | None = None


class Expression(NamedTuple):
    """A regular expression that a message must have a match of, or must not if it is ``excluded``."""

    text: str
    excluded: bool


class HitsPage(NamedTuple):
    """A page of hits. It may have fewer than asked for, or none, although there are ``more``: a search takes a second.

    ``next`` is the ``after`` of the next page. ``behind`` is how many events are not in the index yet. ``instead`` has
    what was searched for instead of words that no event has. ``partial`` says that not all events with the words were
    ranked: very many have them, or it took a second. ``expressions`` are those that were not run, if candidates were
    asked for.
    """

    hits: list[Hit]
    more: bool
    behind: int
    next: str | None = None
    instead: dict[str, list[str]] | None = None
    partial: bool | None = None
    expressions: list[Expression] | None = None
