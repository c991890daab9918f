"""The event bus: tells subscribers of one agent, or of all, what is committed.

Events are published as they are applied, and they are applied in commit order, so every subscriber gets every event
once and in order. Publishing never awaits: a subscriber takes an event or notes that it lags.

If there are more than a few subscribers, the writer gets its reply first. The subscribers are then notified a few at a
time, and the daemon serves other work in between. Events that are published meanwhile queue up behind.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from reel.base.light_typing import NamedTuple
from reeld.core.conversation import Conversation
from reeld.core.events import Event
from reeld.core.milestones import Extent
from reeld.core.path import Turn
from reeld.core.state import Profile
from reeld.wire.shared_pushes import SharedPush

log = logging.getLogger(__name__)

# Subscribers that are notified in one turn of the event loop: encoding and sending that many pushes takes a
# millisecond.
_FEW = 100
# The most pending notifications, over all events. Beyond this limit publishing notifies at once, which slows down the
# writers.
_MAX_LEFT = 10_000


class CommittedEvent:
    """A committed event, and what it did to the conversation.

    Args:
        profile: the agent's, after it.
        event_id: its id.
        event: the event.
        kept: how long a prefix of the conversation it left unchanged.
        extent: how long the conversation is after it.
    """

    __slots__ = ("encoded", "event", "event_id", "extent", "kept", "profile")

    def __init__(self, profile: Profile, event_id: int, event: Event, kept: Extent, extent: Extent) -> None:
        self.profile = profile
        self.event_id = event_id
        self.event = event
        self.kept = kept
        self.extent = extent
        # The event as subscribers get it, by the view that they want: encoded once for all of them.
        self.encoded: dict[Any, SharedPush] = {}


class Typist(NamedTuple):
    """Who is writing a draft: a connection, and what its client calls itself, if it has said so."""

    connection: int
    client: str | None


class Whose(Protocol):
    """The agent that a draft is for: a profile, or the part of it that another daemon sends."""

    @property
    def row(self) -> int:
        """Its number in the database."""

    @property
    def uid(self) -> str:
        """Its id."""


class Subscriber(Protocol):
    """Receives what happens; its methods must neither block nor raise."""

    # The connection that counts as attached to the agent; ``None`` if it should not count.
    connection: int | None
    # Whether it draws drafts itself; of all others of its connection, one is told.
    draws: bool

    def on_event(self, committed: CommittedEvent) -> None:
        """Take a committed event."""

    def on_elsewhere(self) -> None:
        """Take note that other daemons have written events, which have to be read from the log."""

    def on_reset(self, whose: Whose) -> None:
        """Take note that the agent's live state differed from the log, and has been replaced."""

    def on_loss(self, lost: Iterable[Whose]) -> None:
        """Take note that the log has lost events: of the agent, or if all are followed, at least of these."""

    def on_draft(self, whose: Whose, writer: Typist, text: str) -> None:
        """Take what ``writer`` is writing; an empty text ends its draft."""


class EventBus:
    """The subscribers of one database.

    Args:
        newest: the id of the newest event in the database.
        call_soon: calls a function with a value in a later turn of the event loop.
    """

    def __init__(self, newest: int, call_soon: Callable[[Callable[[None], None], None], None]) -> None:
        self.newest = newest
        self._call_soon = call_soon
        # The events with pending notifications, the oldest first, each with the subscribers that are left; and how many
        # these are.
        self._untold: deque[tuple[CommittedEvent, Iterator[Subscriber]]] = deque()
        self._left = 0
        # Whether a later turn is scheduled for them.
        self._goes_on = False
        # See `share`.
        self._on_followers: Callable[[int], None] = _ignore
        self._followers_elsewhere: Callable[[int], int] = _none
        # How many subscriptions ended because their peer did not read fast enough.
        self.lagged = 0
        # By the agent's row; ``None`` has those who follow all agents. The inner dicts are ordered sets.
        self._subscribers: dict[int | None, dict[Subscriber, None]] = {}

    def share(self, on_followers: Callable[[int], None], elsewhere: Callable[[int], int]) -> None:
        """Share the numbers of followers with other daemons.

        Args:
            on_followers: called with a single agent whenever the number of its followers may have changed here.
            elsewhere: returns how many follow an agent at other daemons.
        """
        self._on_followers, self._followers_elsewhere = on_followers, elsewhere

    def note_lag(self) -> None:
        """Count a subscription that has ended because its peer did not read fast enough."""
        self.lagged += 1

    def subscribe(self, subscriber: Subscriber, row: int | None) -> None:
        """Tell a subscriber about an agent, or about all, from now on."""
        self._subscribers.setdefault(row, {})[subscriber] = None
        if row is not None:
            self._on_followers(row)

    def unsubscribe(self, subscriber: Subscriber, row: int | None) -> None:
        """Tell a subscriber nothing more."""
        subscribers = self._subscribers.get(row, {})
        subscribers.pop(subscriber, None)
        if not subscribers:
            self._subscribers.pop(row, None)
        if row is not None:
            self._on_followers(row)

    def has_subscribers(self, row: int) -> bool:
        """Return whether an agent has subscribers."""
        return row in self._subscribers or None in self._subscribers

    def attached(self, row: int) -> int:
        """Return how many connections follow this single agent, over all daemons."""
        return len(self.followers(row)) + self._followers_elsewhere(row)

    def followed(self) -> list[int]:
        """Return the agents that connections follow individually."""
        return [row for row in self._subscribers if row is not None and self.followers(row)]

    def followers(self, row: int | None) -> set[int]:
        """Return the connections that follow this single agent, or with ``None`` all agents."""
        return {each.connection for each in self._subscribers.get(row, ()) if each.connection is not None}

    @property
    def subscriptions(self) -> int:
        """How many subscriptions there are, of connections that count as attached."""
        return sum(each.connection is not None for group in self._subscribers.values() for each in group)

    def subscribers(self, row: int) -> list[Subscriber]:
        """Return all subscribers of an agent, those of all agents included."""
        return [*self._subscribers.get(row, ()), *self._subscribers.get(None, ())]

    def publish(self, committed: CommittedEvent) -> None:
        """Notify the subscribers of the event's agent: a few at once, many in later turns."""
        subscribers = self.subscribers(committed.profile.row)
        self._untold.append((committed, iter(subscribers)))
        self._left += len(subscribers)
        if self._left <= _FEW:
            self.catch_up()
            return
        if self._left > _MAX_LEFT:
            self._tell(self._left - _MAX_LEFT)
        if not self._goes_on:
            self._goes_on = True
            self._call_soon(self._go_on, None)

    def _go_on(self, _: None) -> None:
        self._tell(_FEW)
        self._goes_on = self._left > 0
        if self._goes_on:
            self._call_soon(self._go_on, None)
        else:
            self._untold.clear()

    def _tell(self, most: int) -> None:
        """Notify up to this many of the next subscribers; this is reentrant, so fewer may be left."""
        while self._untold:
            committed, left = self._untold[0]
            for subscriber in left:
                self._left -= 1
                most -= 1
                try:
                    subscriber.on_event(committed)
                except Exception:  # a commit stays a commit, even if a subscriber has a bug
                    log.exception(
                        "a subscriber failed on event=%d of agent=%s", committed.event_id, committed.profile.name
                    )
                if not most:
                    return
            if self._untold and self._untold[0][1] is left:
                self._untold.popleft()

    def catch_up(self) -> None:
        """Deliver all pending notifications, before something that must not overtake them."""
        if self._untold:
            self._tell(self._left)
            self._untold.clear()

    def tell_elsewhere(self, rows: Iterable[int]) -> None:
        """Tell the subscribers of some agents that other daemons have written events, which only the log has."""
        self.catch_up()
        for subscriber in {subscriber: None for row in rows for subscriber in self.subscribers(row)}:
            subscriber.on_elsewhere()

    def tell_loss(self, lost: Iterable[Whose]) -> None:
        """Tell each subscriber that the log has lost events.

        Args:
            lost: the agents that may have lost events. Subscribers of all agents get this list.
        """
        self.catch_up()
        agents = {whose.row: whose for whose in lost}
        for row, subscribers in list(self._subscribers.items()):
            for subscriber in list(subscribers):
                subscriber.on_loss(agents.values() if row is None else ())

    def reset(self, profile: Profile) -> None:
        """Tell the subscribers of an agent that its live state has been replaced."""
        self.catch_up()
        for subscriber in self.subscribers(profile.row):
            subscriber.on_reset(profile)

    def publish_new_agent(
        self,
        profile: Profile,
        events: list[Event],
        first: int,
        conversation: Conversation,
        turns: Mapping[int, Turn],
    ) -> None:
        """Publish the first events of a new agent.

        Args:
            profile: the agent.
            events: the events.
            first: the id of the first one.
            conversation: the one that it is cloned from, which is not changed; or an empty one, into which the
                events are folded.
            turns: the states that events take over, by the numbers of the events.
        """
        if self.has_subscribers(profile.row):
            for number, event in enumerate(events):
                turn = turns.get(number)
                past = None if turn is None else turn.takeover(first, events)
                kept = Extent(0, 0) if event.kind == "clone" else conversation.apply(first + number, event, past)
                self.publish(CommittedEvent(profile, first + number, event, kept, conversation.extent))
        self.newest = first + len(events) - 1


def _ignore(_row: int) -> None:
    """Ignore it: there is no other daemon."""


def _none(_row: int) -> int:
    """Return that nobody follows the agent."""
    return 0
