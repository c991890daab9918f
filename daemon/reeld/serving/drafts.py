"""What is being written and has not been added yet: shown to who follows, never stored.

Each connection has one draft an agent. A draft is replaced by the next, and ended by the connection's own next
add or by its end. A burst is thinned out; its last text always comes.
"""

import math
from typing import NamedTuple

import anyio

from reel.errors import Busy, TooLarge
from reeld.agents.hub import Follower, Hub
from reeld.core.state import Profile

# Seconds between two pushes of one draft.
_GAP = 1 / 30
# The longest draft, in characters, and how many a connection may have.
MAX_DRAFT = 1 << 20
MAX_DRAFTS = 64


class _Key(NamedTuple):
    connection: int
    row: int


class _Draft:
    """A draft, and when it was pushed last."""

    def __init__(self, profile: Profile, text: str, pushed: float) -> None:
        self.profile = profile
        self.text = text
        self.pushed = pushed


class Drafts:
    """The drafts of all connections.

    Args:
        hub: knows who follows.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._drafts: dict[_Key, _Draft] = {}
        # What has changed since it was pushed, in the order in which it is due.
        self._due: dict[_Key, None] = {}
        self._wake = anyio.Event()

    async def run(self) -> None:
        """Push the last text of each burst when it is due."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            while self._due:
                key = next(iter(self._due))
                await anyio.sleep_until(self._drafts[key].pushed + _GAP)
                if key in self._due:
                    self._push(key)

    def write(self, connection: int, profile: Profile, text: str) -> None:
        """Replace a connection's draft; an empty text ends it.

        Raises:
            TooLarge: the text is too long.
            Busy: the connection has drafts of too many agents.
        """
        if len(text) > MAX_DRAFT:
            raise TooLarge(
                f"text: a draft may have {MAX_DRAFT} characters; show its end", field="text", limit=MAX_DRAFT
            )
        key = _Key(connection, profile.row)
        if not text:
            self.end(*key)
            return
        draft = self._drafts.get(key)
        if draft is None:
            if sum(known.connection == connection for known in self._drafts) >= MAX_DRAFTS:
                raise Busy(f"a connection may have drafts of {MAX_DRAFTS} agents; end some with an empty text")
            draft = self._drafts[key] = _Draft(profile, text, pushed=-math.inf)
        draft.profile, draft.text = profile, text
        if anyio.current_time() >= draft.pushed + _GAP:
            self._push(key)
        else:
            self._due[key] = None
            self._wake.set()

    def end(self, connection: int, row: int) -> None:
        """End the draft that a connection has of an agent, if there is one."""
        draft = self._drafts.pop(_Key(connection, row), None)
        if draft is not None:
            self._due.pop(_Key(connection, row), None)
            self._show(connection, draft.profile, "")

    def end_all(self, connection: int) -> None:
        """End every draft of a connection."""
        for key in [key for key in self._drafts if key.connection == connection]:
            self.end(*key)

    def show_to(self, follower: Follower, row: int | None) -> None:
        """Show somebody who has just come what is being written."""
        for key, draft in self._drafts.items():
            if row in (None, key.row) and key.connection != follower.connection:
                follower.glimpse(draft.profile, key.connection, draft.text)

    def _push(self, key: _Key) -> None:
        self._due.pop(key, None)
        draft = self._drafts[key]
        draft.pushed = anyio.current_time()
        self._show(key.connection, draft.profile, draft.text)

    def _show(self, writer: int, profile: Profile, text: str) -> None:
        """Show a draft to every other connection that follows, once."""
        shown: set[int | None] = {writer, None}
        for follower in self._hub.followers(profile.row):
            if follower.connection not in shown:
                shown.add(follower.connection)
                follower.glimpse(profile, writer, text)
