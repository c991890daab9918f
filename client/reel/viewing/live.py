"""What a page receives while it is open: Server-Sent Events.

Each event has one line of JSON: a text of a conversation may have any line break, and must not end the line. They are
``parts`` to append, with the seq that they lead up to; ``changed``: read the page again; ``draft``, what somebody is
writing; ``list``: read the list again; ``lost`` and ``back``, of the daemon; ``gone``: there is no such conversation.
"""

import json
from typing import Any

import anyio

from reel import requests
from reel.aio import Client
from reel.errors import NotFound, ReelError
from reel.exporting.story import Happened, Said
from reel.peer import RETRY_INTERVAL
from reel.pushes import DraftPush, EventPush, Push
from reel.viewing.conversation import draft, new_layout, pieces_of
from reel.viewing.exchange import Send
from reel.viewing.reading import piece

# Seconds between two updates of the list, and of a text that is being written.
_LIST_EVERY, _DRAFT_EVERY = 1.0, 0.1
# Seconds between two signs of life, by which a browser is missed that went away without closing the connection.
_BEAT = 15.0
# A page that has missed more events than this is read again.
_MANY = 200
# How many events before the first are read for the names of the tools whose results are to come.
_BEFORE = 50
# Events that are shown where they happened, and those that show nothing. All others change what was there before.
_SHOWN = ("mark", "note", "interrupted")
_SILENT = ("usage", "created", "command")


def event(name: str, seq: int | None = None, **data: Any) -> bytes:
    """Return an event as it is sent; its seq is what a browser repeats when it connects again."""
    number = "" if seq is None else f"id: {seq}\n"
    return f"event: {name}\n{number}data: {json.dumps({'seq': seq, **data})}\n\n".encode()


class Live:
    """The events of one page.

    Args:
        client: the client.
        send: sends to the browser.
        agent: the id of the agent that is shown, if one is.
        since: the seq up to which the page has it.
    """

    def __init__(self, client: Client, send: Send, agent: str | None, since: int) -> None:
        self._client = client
        self._send = send
        self._sending = anyio.Lock()
        self._agent = agent
        self._since = since
        self._layout = new_layout()
        self._listed = anyio.Event()
        # Who is writing, in all conversations; and what is being written in this one, and was not sent yet.
        self._writing: set[tuple[str, int]] = set()
        self._drafts: dict[int, DraftPush] = {}
        self._drafted = anyio.Event()

    async def run(self) -> None:
        """Send what happens until the browser hangs up."""
        await self._tell(b"retry: 1000\n\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_list)
            tasks.start_soon(self._tell_list)
            tasks.start_soon(self._beat)
            if self._agent is not None:
                tasks.start_soon(self._follow_agent, self._agent)
                tasks.start_soon(self._tell_drafts)

    async def _tell(self, data: bytes) -> None:
        async with self._sending:
            await self._send(data)

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(_BEAT)
            await self._tell(b":\n\n")

    async def _follow_list(self) -> None:
        """Notice what changes in any conversation, and whether the daemon is there."""
        is_lost = False
        while True:
            try:
                async with self._client.subscribe(view="none") as pushes:
                    if is_lost:
                        is_lost = False
                        await self._tell(event("back"))
                        self._listed.set()
                    async for push in pushes:
                        if self._changes_list(push):
                            self._listed.set()
            except ReelError:
                if not is_lost:
                    is_lost = True
                    await self._tell(event("lost"))
                await anyio.sleep(RETRY_INTERVAL)

    def _changes_list(self, push: Push) -> bool:
        if not isinstance(push, DraftPush):
            return True
        before, writer = len(self._writing), (push.agent, push.connection)
        if push.text:
            self._writing.add(writer)
        else:
            self._writing.discard(writer)
        return len(self._writing) != before

    async def _tell_list(self) -> None:
        while True:
            await self._listed.wait()
            self._listed = anyio.Event()
            await self._tell(event("list"))
            await anyio.sleep(_LIST_EVERY)

    async def _follow_agent(self, agent: str) -> None:
        """Send what happens in the conversation, from where the page ends."""
        while True:
            try:
                await self._learn(agent)
                async with self._client.subscribe(agent, since=self._since) as pushes:
                    # A log that is shorter than the page is that of a backup.
                    if not 0 <= pushes.head - self._since <= _MANY:
                        self._since = pushes.head
                        await self._tell(event("changed", self._since))
                        continue
                    async for push in pushes:
                        await self._take(push)
            except NotFound:  # it was erased
                await self._tell(event("gone"))
                return
            except ReelError:
                await anyio.sleep(RETRY_INTERVAL)

    async def _learn(self, agent: str) -> None:
        """Let the layout know the tools whose results are to come."""
        end = min(self._since, (await self._client.agent(agent)).head)
        known = await piece(self._client, agent, max(end - _BEFORE, 1), end, end)
        self._layout.learn([*known.before, *known.parts])

    async def _take(self, push: Push) -> None:
        if isinstance(push, DraftPush):
            await self._take_draft(push)
        elif isinstance(push, EventPush):
            if push.message is not None:
                await self._append(push.seq, Said(push.message, is_live=True))
            elif push.kind in _SHOWN:
                page = await self._client.call(requests.history(push.agent, since=push.seq - 1, limit=1))
                for found in page.events:
                    await self._append(push.seq, Happened(found))
            elif push.kind not in _SILENT:
                await self._tell(event("changed", push.seq))
            self._since = push.seq
        else:
            await self._tell(event("changed", self._since))

    async def _append(self, seq: int, part: Said | Happened) -> None:
        await self._tell(event("parts", seq, html=pieces_of([part], self._layout)))

    async def _take_draft(self, push: DraftPush) -> None:
        self._drafts[push.connection] = push
        if push.text:
            self._drafted.set()
        else:
            await self._send_drafts()

    async def _tell_drafts(self) -> None:
        while True:
            await self._drafted.wait()
            self._drafted = anyio.Event()
            await self._send_drafts()
            await anyio.sleep(_DRAFT_EVERY)

    async def _send_drafts(self) -> None:
        drafts = list(self._drafts.values())
        self._drafts.clear()
        for push in drafts:
            await self._tell(event("draft", connection=push.connection, html=draft(push)))
