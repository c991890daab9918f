"""What an open page is sent, and when it is told that it cannot be followed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import pytest

import reel
from reel.sync.client import Client
from reel.viewing.live import Live
from reel.wire.pushes import DraftPush
from tests import reused_daemon
from tests.daemon import Daemon, until
from tests.patience import PATIENCE

# The name of an event, and its data.
Event: TypeAlias = tuple[str, dict[str, Any]]

# Without the conversations of other tests: some are told of all. What ends it gets another one.
daemon, prepared, reused = reused_daemon.daemon, reused_daemon.prepared, reused_daemon.reused


class Browser:
    """What a browser receives."""

    def __init__(self) -> None:
        self.received: list[Event] = []
        self._more = anyio.Event()

    async def send(self, data: bytes) -> None:
        """Receive an event; what is for the browser itself is left out."""
        fields = dict(line.split(": ", 1) for line in data.decode().splitlines() if ": " in line)
        if "event" in fields:
            self.received.append((fields["event"], json.loads(fields["data"])))
            self._more.set()

    async def until(self, name: str) -> dict[str, Any]:
        """Wait for an event of this name, and return its data; before it, only what comes when it will may be told."""
        while name not in self.names:
            self._more = anyio.Event()
            await self._more.wait()
        at = self.names.index(name)
        assert {"list", "draft", "waits"} >= {*self.names[:at]}
        _, data = self.received[at]
        del self.received[: at + 1]
        return data

    @property
    def names(self) -> list[str]:
        """The names of what was received."""
        return [name for name, _ in self.received]


@asynccontextmanager
async def opened(daemon: Daemon, agent: str | None, since: int = 1) -> AsyncIterator[Browser]:
    """Open a page; it is followed until the block ends."""
    browser = Browser()
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket, patience=0) as connected, anyio.create_task_group() as tasks:
            tasks.start_soon(Live(connected, browser.send, agent, since).run)
            yield browser
            tasks.cancel_scope.cancel()


async def list_followed(client: Client) -> None:
    """Wait until the list of a page is followed, and nothing else."""
    await anyio.to_thread.run_sync(until, lambda: client.stats()["subscriptions"] == 1)


@pytest.fixture
def demo(client: Client) -> str:
    """The id of a conversation of one message, with the seq 2."""
    made = client.create("demo")
    client.add("demo", "What is a reel?")
    return made.id


async def test_messages(daemon: Daemon, client: Client, demo: str) -> None:
    """A message is appended with its seq, and a result names the tool of a call that was on the page before."""
    call: Any = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
    answer: Any = {"type": "tool_result", "tool_call_id": "c1", "content": ""}
    client.add("demo", [{"role": "assistant", "content": [call]}])
    async with opened(daemon, demo, 3) as browser:
        client.add("demo", [{"role": "tool", "content": [answer]}])
        result = await browser.until("parts")
        client.add("demo", [{"role": "assistant", "content": "And *this*?"}])
        said = await browser.until("parts")

    assert (4, 5) == (result["seq"], said["seq"])
    assert "look" in result["html"]
    assert "<em>this</em>" in said["html"]


async def test_what_a_page_has_missed(daemon: Daemon, client: Client, demo: str) -> None:
    """What was said since the page was made comes first; the page of a log that is much longer is made anew."""
    client.add("demo", "And a tape?")
    async with opened(daemon, demo, 2) as browser:
        assert 3 == (await browser.until("parts"))["seq"]
    client.add("demo", ["x"] * 300)
    async with opened(daemon, demo, 2) as browser:
        assert 303 == (await browser.until("changed"))["seq"]


async def test_a_page_that_is_ahead_of_its_log(daemon: Daemon, demo: str) -> None:
    """After an older backup was restored, the log is shorter than the page, which is made anew."""
    async with opened(daemon, demo, 9) as browser:
        assert 2 == (await browser.until("changed"))["seq"]


async def test_events(daemon: Daemon, client: Client, demo: str) -> None:
    """A mark and a note are shown where they happened, usage nowhere; an undo changes what is shown already."""
    async with opened(daemon, demo, 2) as browser:
        client.mark("demo", "here")
        mark = await browser.until("parts")
        client.add("demo", [{"kind": "usage", "data_json": "{}"}, {"kind": "note", "content": "by the way"}])
        note = await browser.until("parts")
        client.undo("demo")
        changed = await browser.until("changed")

    assert (True, True) == ("here" in mark["html"], "by the way" in note["html"])
    assert (3, 5, 6) == (mark["seq"], note["seq"], changed["seq"])


async def test_what_it_waits_for(daemon: Daemon, client: Client, demo: str) -> None:
    """An approval that is waited for is said below the conversation, and no more once it is given."""

    def opaque(role: str, data: str) -> Any:
        return {"role": role, "content": [{"type": "opaque", "provider": "x", "data_json": data}]}

    async with opened(daemon, demo, 2) as browser:
        await anyio.to_thread.run_sync(until, lambda: client.stats()["subscriptions"] == 2)
        client.add("demo", [opaque("assistant", '{"type": "function_approval_request", "name": "delete"}')])
        await browser.until("parts")
        asked = await browser.until("waits")
        client.add("demo", [opaque("user", '{"type": "function_approval_response", "approved": true}')])
        await browser.until("parts")
        given = await browser.until("waits")

    assert ["waiting for an approval: delete", ""] == [asked["text"], given["text"]]


async def test_drafts(daemon: Daemon, client: Client, demo: str) -> None:
    """What is being written is shown, and is gone from the page when it is gone."""
    async with opened(daemon, demo, 2) as browser:
        client.draft("demo", "so far")
        written = await browser.until("draft")
        client.draft("demo", "")
        ended = await browser.until("draft")

    assert "so far" in written["html"]
    assert ("", written["connection"]) == (ended["html"], ended["connection"])


async def test_the_list(daemon: Daemon, client: Client) -> None:
    """The list is read again after any change, and when somebody begins or ends to write."""
    async with opened(daemon, None) as browser:
        await list_followed(client)
        client.create("other")
        await browser.until("list")
        client.draft("other", "so")
        await browser.until("list")
        client.draft("other", "")
        await browser.until("list")


def test_who_writes() -> None:
    """Each word of a draft changes nothing in the list: it says who writes, not what."""
    live: Any = Live(None, None, None, 0)  # type: ignore[arg-type]  # it neither asks nor sends
    texts = [(1, "so"), (1, "so far"), (2, "me too"), (1, ""), (1, ""), (2, "")]

    assert [True, False, True, True, False, True] == [
        live._changes_list(DraftPush("a", writer, text)) for writer, text in texts
    ]


async def test_the_daemon_ends(daemon: Daemon, demo: str) -> None:
    """A page says once that the daemon is away, and when it is back; then it goes on where it was."""
    async with opened(daemon, demo, 2) as browser:
        with daemon.client() as client:
            client.draft("demo", "so far")
            await browser.until("draft")
        await anyio.to_thread.run_sync(daemon.end)
        await browser.until("lost")
        await anyio.to_thread.run_sync(daemon.start)
        await browser.until("back")
        with daemon.client() as client:
            client.add("demo", "again")

        assert 3 == (await browser.until("parts"))["seq"]
        assert "lost" not in browser.names


async def test_a_page_that_is_refused(daemon: Daemon, client: Client, demo: str) -> None:
    """A refusal that would come again is said once, with its reason; the list goes on."""
    async with opened(daemon, demo, 1 << 60) as browser:
        failed = await browser.until("failed")
        await list_followed(client)
        client.create("other")
        await browser.until("list")

        assert "since" in failed["why"]
        assert "failed" not in browser.names


async def test_a_page_whose_conversation_is_gone(daemon: Daemon, client: Client) -> None:
    """The page of a conversation that was erased is told so, once."""
    async with opened(daemon, "0" * 32) as browser:
        await browser.until("gone")
        await list_followed(client)
        client.create("other")
        await browser.until("list")

        assert "gone" not in browser.names
