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


def follow(daemon: Daemon, agent: str, since: int) -> list[tuple[str, dict[str, Any]]]:
    """Return what a browser receives until the page is no longer followed; ``reel view`` runs on asyncio."""
    browser = Browser()

    async def run() -> None:
        with anyio.fail_after(PATIENCE):
            async with reel.aio.connect(daemon.socket) as connected:
                await Live(connected, browser.send, agent, since)._follow_agent(agent)

    anyio.run(run)
    return browser.received


def test_a_page_that_is_refused(daemon: Daemon) -> None:
    """A refusal that would come again is said once, with its reason; it is not asked for again and again."""
    with daemon.client() as client:
        agent = client.create("refused").id

    ((name, data),) = follow(daemon, agent, 1 << 60)
    assert "failed" == name
    assert "since" in data["why"]


def test_a_page_whose_conversation_is_gone(daemon: Daemon) -> None:
    """The page of a conversation that was erased is told so, once."""
    assert [("gone", {"seq": None})] == follow(daemon, "0" * 32, 1)
