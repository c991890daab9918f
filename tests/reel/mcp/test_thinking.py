"""What models thought is in no answer, unless it is asked for, on a real daemon."""

from typing import Any

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed
from tests.reel.mcp.asking import Asker, asker

pytestmark = pytest.mark.slow
SAID = "We keep the osprey."
THOUGHT = "A secret gannet, and the osprey"


@pytest.fixture(autouse=True)
def thoughtful(client: Client) -> None:
    """A conversation in which a model thinks, once without a word beside it."""
    if not client.agents(prefix="thoughtful").agents:
        thinking: Any = {"type": "thinking", "text": THOUGHT}
        client.create("thoughtful", tags={"cwd": "/birds"})
        client.add("thoughtful", "Which bird?")
        client.add("thoughtful", {"role": "assistant", "content": [thinking, {"type": "text", "text": SAID}]})
        client.add("thoughtful", "Well?")
        client.add("thoughtful", {"role": "assistant", "content": [thinking]})
        until_indexed(client)


async def test_a_search_without(ask: Asker) -> None:
    """Words that are only in thinking are found, but not shown; the answer says where they are."""
    found = await ask("search", query="gannet")
    both = await ask("search", query="osprey")

    assert "gannet" not in found.quoted
    assert ", in its thinking\n    We keep the osprey." in found.quoted
    assert found.quoted.count("#") == found.quoted.count(", in its thinking") > 1
    assert "add thinking=true" in found.text
    assert "gannet" not in both.quoted
    assert 1 == both.quoted.count(SAID)


async def test_a_search_with(ask: Asker) -> None:
    """They are shown on request, and the answer says how they are read."""
    found = await ask("search", query="gannet", thinking=True, limit=1)
    (seq,) = {line.split()[0] for line in found.quoted.splitlines() if line.startswith("  #")}
    more = await ask("search", **found.call("More") | {"thinking": True})

    assert THOUGHT in found.quoted
    assert "in its thinking" not in found.text
    assert "seq=N, thinking=true)" in found.text
    assert "thinking=true, cursor=" in found.text
    assert THOUGHT in more.quoted
    read = await ask("read", conversation="thoughtful", seq=seq, thinking=True)
    assert THOUGHT in read.quoted


async def test_every_other_door(client: Client, daemon: Daemon) -> None:
    """No other answer has it either, however its words are asked for."""
    client.clone("thoughtful", "cleared")
    client.clear("cleared")
    client.change("cleared", tags={"cwd": "/birds"})
    until_indexed(client)
    async with asker(daemon, "/birds") as ask:
        answers: list[Any] = [
            await ask("read", conversation="thoughtful"),
            await ask("read", conversation="thoughtful", seq=3),
            await ask("lost", conversation="cleared"),
            await ask("conversations"),
            await ask.handle("resources/list"),
            await ask.handle("resources/read", uri="reel://conversation/thoughtful"),
            await ask.handle("prompts/get", name="recall", arguments={"topic": "gannets"}),
        ]

    assert all("secret" not in str(answer) for answer in answers)
    assert SAID in answers[2].quoted
