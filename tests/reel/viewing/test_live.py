"""What an open page is sent, and when it is told that it cannot be followed."""

import json
from typing import Any

import anyio

import reel
from reel.viewing.live import Live
from tests.daemon import Daemon
from tests.patience import PATIENCE


class Browser:
    """What a browser receives."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []

    async def send(self, data: bytes) -> None:
        """Receive an event."""
        fields = dict(line.split(": ", 1) for line in data.decode().splitlines() if ": " in line)
        self.received.append((fields["event"], json.loads(fields["data"])))


async def test_a_page_that_is_refused(daemon: Daemon) -> None:
    """A refusal that would come again is said once, with its reason; it is not asked for again and again."""
    browser = Browser()
    with daemon.client() as client:
        agent = client.create("refused").id
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket) as connected:
            await Live(connected, browser.send, agent, 1 << 60)._follow_agent(agent)

    ((name, data),) = browser.received
    assert "failed" == name
    assert "since" in data["why"]


async def test_a_page_whose_conversation_is_gone(daemon: Daemon) -> None:
    """The page of a conversation that was erased is told so, once."""
    browser = Browser()
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket) as connected:
            await Live(connected, browser.send, "0" * 32, 1)._follow_agent("0" * 32)

    assert [("gone", {"seq": None})] == browser.received
