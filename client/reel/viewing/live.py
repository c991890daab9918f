"""The updates of an open page, as Server-Sent Events.

Each event is one line of JSON: a text of a conversation may have any line break, which must not end the line. The
events are ``parts`` to append, with the seq that they lead up to; ``changed``: reload the page; ``draft``, an answer
being written; ``waits``, what the conversation waits for, if for a person; ``list``: reload the list; ``lost`` and
``back``, about the daemon; ``gone``: the conversation is gone; ``failed``: why the page cannot be followed.
"""

import json
from typing import Any

import anyio

from reel import requests
from reel.aio import Client
from reel.base.errors import Busy, NotFound, NotRunning, ReelError, ShuttingDown, Storage
from reel.daemon.peer import RETRY_INTERVAL
from reel.exporting.story import Happened, Said
from reel.viewing.contents import piece, waits_for
from reel.viewing.conversation import draft, new_articles, pieces_of
from reel.viewing.exchange import Send
from reel.wire.pushes import DraftPush, EventPush, Push

# Seconds between two updates of the list, and of a draft.
_LIST_EVERY, _DRAFT_EVERY = 1.0, 0.1
# What may pass, and how many seconds are at most between two attempts; any other refusal would come again.
_PASSING = (Busy, NotRunning, ShuttingDown, Storage)
_LONGEST_PAUSE = 10.0
# Seconds between two keep-alives, which detect a browser that went away without closing the connection.
_BEAT = 15.0
# A page that has missed more events than this is reloaded.
_MANY = 200
# The number of events before the first that are read for the tool names of later results.
_BEFORE = 50
# Events that are shown where they happened, and those that show nothing. All others change earlier content.
_SHOWN = ("mark", "note", "interrupted")
_SILENT = ("usage", "created", "command")


def event(name: str, seq: int | None = None, **data: Any) -> bytes:
    """Return an event in its encoded form; a browser sends its seq when it reconnects."""
    number = "" if seq is None else f"id: {seq}\n"
    return f"event: {name}\n{number}data: {json.dumps({'seq': seq, **data})}\n\n".encode()


class Live:
    """The events of one page.

    Args:
        client: the client.
        send: sends to the browser.
        agent: the id of the displayed agent, if any.
        since: the seq up to which the page is current.
    """

    def __init__(self, client: Client, send: Send, agent: str | None, since: int) -> None:
        self._client = client
        self._send = send
        self._sending = anyio.Lock()
        self._agent = agent
        self._since = since
        self._articles = new_articles()
        self._listed = anyio.Event()
        # What the page was told that the conversation waits for; ``None`` if nothing was told yet.
        self._waits: str | None = None
        # The agents with drafts in all conversations; and the unsent draft of this one.
        self._writing: set[tuple[str, int]] = set()
        self._drafts: dict[int, DraftPush] = {}
        self._drafted = anyio.Event()

    async def run(self) -> None:
        """Send updates until the browser hangs up."""
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
        """Watch for changes in all conversations, and for the loss of the daemon."""
        is_lost, pause = False, RETRY_INTERVAL
        while True:
            try:
                async with self._client.subscribe(view="none") as pushes:
                    pause = RETRY_INTERVAL
                    if is_lost:
                        is_lost = False
                        await self._tell(event("back"))
                        self._listed.set()
                    elif self._waits is None:  # what was said since the page was made is no push
                        await self._tell_waits()
                    async for push in pushes:
                        if self._changes_list(push):
                            self._listed.set()
            except _PASSING:
                if not is_lost:
                    is_lost = True
                    await self._tell(event("lost"))
                pause = await _longer(pause)
            except ReelError as error:
                await self._fail(error)
                return

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
            await self._tell_waits()
            await anyio.sleep(_LIST_EVERY)

    async def _tell_waits(self) -> None:
        """Say below the conversation what it waits for, if that is something else than before."""
        if self._agent is None:
            return
        try:
            waits = await waits_for(self._client, self._agent)
        except ReelError:  # the next change of any conversation asks again
            return
        if waits != self._waits:
            self._waits = waits
            await self._tell(event("waits", text=waits))

    async def _follow_agent(self, agent: str) -> None:
        """Send updates of the conversation, from the end of the page."""
        pause = RETRY_INTERVAL
        while True:
            try:
                await self._learn(agent)
                async with self._client.subscribe(agent, since=self._since) as pushes:
                    pause = RETRY_INTERVAL
                    # A log shorter than the page comes from a backup.
                    if not 0 <= pushes.head - self._since <= _MANY:
                        self._since = pushes.head
                        await self._tell(event("changed", self._since))
                        continue
                    async for push in pushes:
                        await self._take(push)
            except NotFound:  # it was erased
                await self._tell(event("gone"))
                return
            except _PASSING:
                pause = await _longer(pause)
            except ReelError as error:
                await self._fail(error)
                return

    async def _fail(self, error: ReelError) -> None:
        await self._tell(event("failed", why=error.message))

    async def _learn(self, agent: str) -> None:
        """Read the calls before the first event, so that articles of later results can name their tools."""
        end = min(self._since, (await self._client.agent(agent)).head)
        known = await piece(self._client, agent, max(end - _BEFORE, 1), end, end)
        self._articles.learn([*known.before, *known.parts])

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
        await self._tell(event("parts", seq, html=pieces_of([part], self._articles)))

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


async def _longer(pause: float) -> float:
    """Wait for so many seconds, and return how long to wait the next time."""
    await anyio.sleep(pause)
    return min(2 * pause, _LONGEST_PAUSE)
