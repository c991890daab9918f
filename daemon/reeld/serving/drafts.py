"""What is being written and has not been added yet: shown to who follows, never stored.

Each connection has one draft an agent. A draft is replaced by the next, and ended by the connection's own next
add or by its end. A burst is thinned out; its last text always comes.
"""

import math
from typing import NamedTuple

import anyio

from reel.errors import Busy, TooLarge
from reeld.agents.event_bus import EventBus, Subscriber, Writer
from reeld.core.state import Profile

# Seconds between two pushes of one draft.
_GAP = 1 / 30
# The longest draft, in characters, how many a connection may have, and the characters of all drafts.
MAX_DRAFT = 1 << 20
MAX_DRAFTS = 64
MAX_ALL = 16 << 20


class _Key(NamedTuple):
    connection: int
    row: int


class _Draft:
    """A draft, which text of it was pushed last, and when; one with an empty text is over."""

    def __init__(self, writer: Writer, profile: Profile) -> None:
        self.writer = writer
        self.profile = profile
        self.text = ""
        self.shown = ""
        self.pushed = -math.inf


class Drafts:
    """The drafts of all connections.

    Args:
        bus: knows who follows.
    """

    def __init__(self, bus: EventBus) -> None:
        self._hub = bus
        self._drafts: dict[_Key, _Draft] = {}
        # What was written, or ended, less than a gap after it was pushed, in the order in which it is due.
        self._due: dict[_Key, None] = {}
        self._wake = anyio.Event()

    async def run(self) -> None:
        """Push the last text of each burst when it is due, and forget drafts that are over."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            while self._due:
                key = next(iter(self._due))
                due = self._drafts[key].pushed + _GAP
                if anyio.current_time() < due:
                    await anyio.sleep_until(due)
                else:
                    del self._due[key]
                    self._push(key)

    def write(self, writer: Writer, profile: Profile, text: str) -> None:
        """Replace a connection's draft; an empty text ends it.

        Raises:
            TooLarge: the text is too long.
            Busy: the connection has drafts of too many agents, or all drafts are too long.
        """
        if len(text) > MAX_DRAFT:
            raise TooLarge(
                f"text: a draft may have {MAX_DRAFT} characters; show its end", field="text", limit=MAX_DRAFT
            )
        key = _Key(writer.connection, profile.row)
        draft = self._drafts.get(key)
        if text and (draft is None or not draft.text):
            self._require_room(writer.connection)
        others = sum(len(each.text) for each in self._drafts.values() if each is not draft)
        if text and others + len(text) > MAX_ALL:
            raise Busy(f"all drafts may have {MAX_ALL} characters; add what is finished, and show the end of the rest")
        if draft is None:
            draft = self._drafts[key] = _Draft(writer, profile)
        draft.writer, draft.profile, draft.text = writer, profile, text
        if key not in self._due and anyio.current_time() >= draft.pushed + _GAP:
            self._push(key)
        else:
            self._look_later(key)

    def _require_room(self, connection: int) -> None:
        if sum(key.connection == connection and draft.text != "" for key, draft in self._drafts.items()) >= MAX_DRAFTS:
            raise Busy(f"a connection may have drafts of {MAX_DRAFTS} agents; end some with an empty text")

    def _look_later(self, key: _Key) -> None:
        self._due[key] = None
        self._wake.set()

    def end(self, connection: int, row: int) -> None:
        """End the draft that a connection has of an agent, if there is one, before anything else is pushed."""
        key = _Key(connection, row)
        if key in self._drafts:
            self._drafts[key].text = ""
            self._push(key)

    def end_all(self, connection: int) -> None:
        """End every draft of a connection."""
        for key in [key for key in self._drafts if key.connection == connection]:
            self.end(*key)

    def show_to(self, follower: Subscriber, row: int | None) -> None:
        """Show somebody who has just come what is being written."""
        for key, draft in self._drafts.items():
            if draft.text and row in (None, key.row) and key.connection != follower.connection:
                follower.on_draft(draft.profile, draft.writer, draft.text)

    def _push(self, key: _Key) -> None:
        """Show a draft as it is now, where it is not; one that is over stays a while, to keep its pace."""
        draft = self._drafts[key]
        if draft.text != draft.shown:
            draft.shown, draft.pushed = draft.text, anyio.current_time()
            self._show(draft)
            if not draft.text:
                self._look_later(key)
        elif not draft.text and key not in self._due:
            del self._drafts[key]

    def _show(self, draft: _Draft) -> None:
        """Show a draft to every other connection that follows, once."""
        shown: set[int | None] = {draft.writer.connection, None}
        for follower in self._hub.subscribers(draft.profile.row):
            if follower.connection not in shown:
                shown.add(follower.connection)
                follower.on_draft(draft.profile, draft.writer, draft.text)
