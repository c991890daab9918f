"""Who hears of what is committed: followers of one agent, or of all.

News is published as it is applied, and it is applied in the order of the commits; so every follower hears of
every event once, in order. Publishing waits for nobody: a follower takes what it is told, or marks itself late.
"""

import logging
from typing import Any, Protocol

from reel.frames import SharedPush
from reeld.core.conversation import Conversation, Extent
from reeld.core.events import Draft
from reeld.core.state import Profile

log = logging.getLogger(__name__)


class News:
    """A committed event, and what it did.

    Args:
        profile: whose it is.
        event_id: its id.
        draft: the event.
        kept: how much of the conversation stands as it stood before.
        extent: how long the conversation is after it.
    """

    __slots__ = ("draft", "event_id", "extent", "kept", "profile", "shown")

    def __init__(self, profile: Profile, event_id: int, draft: Draft, kept: Extent, extent: Extent) -> None:
        self.profile = profile
        self.event_id = event_id
        self.draft = draft
        self.kept = kept
        self.extent = extent
        # What followers are shown of it, by what they want to see: made once for all of them.
        self.shown: dict[Any, SharedPush] = {}


class Follower(Protocol):
    """Somebody who wants to hear of what happens; none of its methods may wait, or fail."""

    # The connection that is shown as attached; ``None`` where nobody looks at what is followed.
    connection: int | None

    def hear(self, news: News) -> None:
        """Take the news of a committed event."""

    def forget(self, profile: Profile) -> None:
        """Note that the living state was not what the log says, and has been replaced."""

    def glimpse(self, profile: Profile, writer: int, text: str) -> None:
        """See what another connection, ``writer``, is writing; an empty text: it is no longer."""


class Hub:
    """The followers.

    Args:
        newest: the id of the newest event in the database.
    """

    def __init__(self, newest: int) -> None:
        self.newest = newest
        # By the agent's row; ``None`` has those who follow all. They are dicts for their order.
        self._followers: dict[int | None, dict[Follower, None]] = {}

    def join(self, follower: Follower, row: int | None) -> None:
        """Let somebody hear of an agent, or of all, from now on."""
        self._followers.setdefault(row, {})[follower] = None

    def leave(self, follower: Follower, row: int | None) -> None:
        """Let somebody hear no more."""
        followers = self._followers.get(row, {})
        followers.pop(follower, None)
        if not followers:
            self._followers.pop(row, None)

    def followed(self, row: int) -> bool:
        """Tell whether anybody hears of an agent."""
        return row in self._followers or None in self._followers

    def attached(self, row: int) -> int:
        """Count the connections that follow this very agent."""
        return len({follower.connection for follower in self._followers.get(row, ())} - {None})

    def followers(self, row: int) -> list[Follower]:
        """List who hears of an agent."""
        return [*self._followers.get(row, ()), *self._followers.get(None, ())]

    def publish(self, news: News) -> None:
        """Tell whoever hears of this agent."""
        for follower in self.followers(news.profile.row):
            try:
                follower.hear(news)
            except Exception:  # what has been committed is so, whoever cannot be told
                log.exception("agent=%s event=%d could not be told", news.profile.name, news.event_id)

    def mended(self, profile: Profile) -> None:
        """Tell whoever hears of an agent that its living state has been replaced."""
        for follower in self.followers(profile.row):
            follower.forget(profile)

    def introduce(self, profile: Profile, drafts: list[Draft], first: int, conversation: Conversation) -> None:
        """Tell of the first events of a new agent.

        Args:
            profile: the agent.
            drafts: the events.
            first: the id of the first of them.
            conversation: what it is cloned from, which is left alone; or an empty one, into which they are folded.
        """
        if self.followed(profile.row):
            for event_id, draft in enumerate(drafts, first):
                kept = Extent(0, 0) if draft.kind == "clone" else conversation.apply(event_id, draft)
                self.publish(News(profile, event_id, draft, kept, conversation.extent))
        self.newest = first + len(drafts) - 1
