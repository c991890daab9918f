"""Reads messages of a conversation from a place on, forwards or backwards, a window at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

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


async def forwards(
    client: Client, agent: str, after: int, at: int, *, until: int | None = None
) -> AsyncIterator[Message]:
    """Yield the messages behind a seq, and in front of another one, in the state after ``at``."""
    limit = _FIRST
    while True:
        page = await client.messages(agent, since=after, at=at, limit=limit, max_bytes=_BYTES)
        for message in page.messages:
            if until is not None and message["seq"] >= until:
                return
            yield message
            after = message["seq"]
        if not page.more or not page.messages:
            return
        limit = _WINDOW


async def backwards(client: Client, agent: str, before: int, at: int) -> AsyncIterator[list[Message]]:
    """Yield the messages in front of a seq, in windows that go back and are each in order, in the state after ``at``.

    The daemon reads forwards, and nobody knows how many messages a stretch of seqs has: where there were few, the next
    one is longer.
    """
    width = _FIRST
    while before > 1:
        low = max(before - width, 1)
        if window := [each async for each in forwards(client, agent, low - 1, at, until=before)]:
            yield window
        width = min(2 * width, _WIDEST if len(window) < _WINDOW // 2 else width)
        before = low


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
        # Whether there are more messages in front of the page, and behind it.
        self.more_before = False
        self.more_after = False

    async def before(self, seq: int, most: int | None = None) -> None:
        """Take messages in front of a seq, ``most`` of them if that is given."""
        taken = 0
        async for window in backwards(self._client, self._agent, seq, self._at):
            learn_calls(self.layout, window)
            for message in reversed(window):
                if taken == most or not self.page.take(render(message, self.layout, self.look), first=True):
                    self.more_before = True
                    return
                taken += 1

    async def after(self, seq: int, until: int | None = None) -> None:
        """Take messages behind a seq, up to another one if that is given."""
        async for message in forwards(self._client, self._agent, seq, self._at):
            is_wanted = until is None or message["seq"] <= until
            if not is_wanted or not self.page.take(render(message, self.layout, self.look)):
                self.more_after = True
                return
