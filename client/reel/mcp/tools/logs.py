"""Reads messages of a conversation from a place on, forwards or backwards, a window at a time."""

from __future__ import annotations

from collections.abc import Iterable

from reel.aio.client import Client
from reel.mcp.answers.page import Page
from reel.mcp.answers.rendering import Look, render
from reel.reading.layout import Layout, calls_and_results
from reel.said.messages import Event, Message

# How many messages, and bytes, are read at once. The first windows are small: a message may have megabytes.
_FIRST = 4
_WINDOW = 32
_BYTES = 1 << 20
_WIDEST = 1 << 12


class Forwards:
    """The messages after a seq, in the state after ``at``, and before ``until`` if that is given."""

    def __init__(self, client: Client, agent: str, after: int, at: int, *, until: int | None = None) -> None:
        self._client = client
        self._agent = agent
        self._after = after
        self._at = at
        self._until = until
        self._limit = _FIRST
        self._is_over = False

    async def next(self) -> list[Message]:
        """Return the next window, in order; empty after the last one."""
        if self._is_over:
            return []
        page = await self._client.messages(
            self._agent, since=self._after, at=self._at, limit=self._limit, max_bytes=_BYTES
        )
        window = [each for each in page.messages if self._until is None or each["seq"] < self._until]
        self._is_over = not page.more or len(window) < len(page.messages)
        self._after = window[-1]["seq"] if window else self._after
        self._limit = _WINDOW
        return window

    async def all(self) -> list[Message]:
        """Return all of them."""
        found: list[Message] = []
        while window := await self.next():
            found += window
        return found


class Backwards:
    """The messages before a seq, in the state after ``at``.

    The daemon reads forwards, and nobody knows how many messages a stretch of seqs has: where there were few, the next
    one is longer.
    """

    def __init__(self, client: Client, agent: str, before: int, at: int) -> None:
        self._client = client
        self._agent = agent
        self._before = before
        self._at = at
        self._width = _FIRST

    async def next(self) -> list[Message]:
        """Return the next window towards the beginning, itself in order; empty before the first message."""
        window: list[Message] = []
        while self._before > 1 and not window:
            low = max(self._before - self._width, 1)
            window = await Forwards(self._client, self._agent, low - 1, self._at, until=self._before).all()
            self._width = min(2 * self._width, _WIDEST if len(window) < _WINDOW // 2 else self._width)
            self._before = low
        return window


async def event_at(client: Client, agent: str, seq: int) -> Event | None:
    """Return the event of a log with a seq; ``None`` if it has none."""
    page = await client.history(agent, since=seq - 1, limit=1)
    return page.events[0] if page.events and page.events[0]["seq"] == seq else None


def learn_calls(layout: Layout, messages: Iterable[Message]) -> None:
    """Tell a layout the calls of messages that are rendered from the end."""
    for message in messages:
        for call_id, tool in calls_and_results(message["content"]):
            if tool is not None:
                layout.note(call_id, tool)


class Filling:
    """Fills a page with messages of one state of a conversation, from a place outwards.

    Args:
        client: the daemon.
        agent: the conversation.
        page: the page.
        look: how messages are shown; its state is the one that is read.
        at: the state.
    """

    def __init__(self, client: Client, agent: str, page: Page, look: Look, at: int) -> None:
        self._client = client
        self._agent = agent
        self.look = look
        self._at = at
        self.page = page
        self.layout = Layout()
        # Whether there are more messages before the page, and after it.
        self.more_before = False
        self.more_after = False

    async def before(self, seq: int, most: int | None = None) -> None:
        """Take messages before a seq, ``most`` of them if that is given."""
        taken = 0
        earlier = Backwards(self._client, self._agent, seq, self._at)
        while window := await earlier.next():
            learn_calls(self.layout, window)
            for message in reversed(window):
                if taken == most or not self.page.take(render(message, self.layout, self.look), first=True):
                    self.more_before = True
                    return
                taken += 1

    async def after(self, seq: int) -> None:
        """Take messages after a seq."""
        later = Forwards(self._client, self._agent, seq, self._at)
        while window := await later.next():
            for message in window:
                if not self.page.take(render(message, self.layout, self.look)):
                    self.more_after = True
                    return
