"""Requests that add plain texts, one behind the other: together they do what each of them does by itself."""

from random import Random
from typing import Any

import pytest

from reel.base.errors import Killed, ReelError
from tests.reeld.serving.conftest import Asked, Connect, Outcome, texts

# What differs from one run to another.
_OF_ITS_OWN = ("agent", "time", "id", "updated", "created", "name", "killed", "revived")


def _program(random: Random, name: str) -> list[list[Asked]]:
    """Return pieces of requests to two agents, most of which add a plain text."""
    return [_piece(random, name, 10 * number) for number in range(30)]


def _piece(random: Random, name: str, first: int) -> list[Asked]:
    calls: list[Asked] = []
    for number in range(first, first + random.randrange(1, 8)):
        agent = f"{name}-{random.choice('aaab')}"
        key = f"{agent}-{first // 30}-{random.randrange(4)}"
        text = {"role": random.choice(("user", "assistant")), "content": f"text {number}"}
        others: list[Asked] = [
            *[("messages", agent)] * 6,
            ("add", agent, [f"one {number}", f"two {number}"]),
            ("add", agent, "a\0b"),
            ("add", agent, f"expected {number}", {"if_seq": number}),
            ("add", agent, [{"role": "assistant", "content": [_call(number)]}]),
            ("mark", agent, "here"),
            ("rewind", agent, "here"),
            ("undo", agent),
            ("clear", agent),
            ("kill", agent),
            ("revive", agent),
            ("add", agent, []),
        ]
        plain: list[Asked] = [
            ("add", agent, f"text {number}"),
            ("add", agent, [text]),
            ("add", {"agent": agent, "messages": "keyed", "key": key}),
            ("add", {"agent": agent, "messages": f"keyed {random.randrange(3)}", "key": key}),
        ]
        calls.append(random.choice(others) if random.random() < 0.2 else random.choice(plain))
    return calls


def _call(number: int) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"call {number}", "name": "look", "arguments": "{}"}


def _told(outcome: Outcome) -> Any:
    """Return what an outcome says that does not differ from one run to another."""
    if isinstance(outcome, ReelError):
        return outcome.name
    told = {name: value for name, value in outcome.items() if name not in _OF_ITS_OWN}
    if isinstance(told.get("messages"), list):
        told["messages"] = [{**message, "time": 0} for message in told["messages"]]
    return told


@pytest.mark.parametrize("seed", range(12))
async def test_in_one_piece_as_one_by_one(seed: int, connect: Connect) -> None:
    """Requests that arrive together have the outcomes that they have if each waits for the one before."""
    peer = connect()
    for name in ("piece-a", "piece-b", "single-a", "single-b"):
        await peer.call("create", name)
    together = [outcome for piece in _program(Random(seed), "piece") for outcome in await peer.ask(*piece)]
    singly = [(await peer.ask(call))[0] for piece in _program(Random(seed), "single") for call in piece]

    assert [_told(outcome) for outcome in singly] == [_told(outcome) for outcome in together]
    for agent in "ab":
        one, other = [await peer.call("history", f"{name}-{agent}") for name in ("piece", "single")]
        assert _history(one) == _history(other)


def _history(page: dict[str, Any]) -> list[Any]:
    told = ("seq", "command", "kind", "content", "data_json", "client")
    return [[event.get(name) for name in told] for event in page["events"][1:]]


async def test_texts_in_a_row_are_written_together(connect: Connect) -> None:
    """Texts for one agent that arrive together are one command each, and share one commit."""
    peer = connect()
    await peer.call("create", "demo")
    before = (await peer.call("stats"))["commits"]
    added = await peer.ask(*(("add", "demo", f"text {number}") for number in range(40)))

    assert list(range(2, 42)) == [reply["command"] for reply in added if isinstance(reply, dict)]
    assert before + 1 == (await peer.call("stats"))["commits"]


async def test_texts_for_a_killed_agent_are_refused_one_by_one(connect: Connect) -> None:
    """Each of several texts for a killed agent has an error of its own, and one that was added before its reply."""
    peer = connect()
    await peer.call("create", "demo")
    keyed = {"agent": "demo", "messages": "kept", "key": "k"}
    first = await peer.call("add", keyed)
    await peer.call("kill", "demo")
    refused, repeated, too = await peer.ask(("add", "demo", "lost"), ("add", keyed), ("add", "demo", "lost, too"))

    assert isinstance(refused, Killed)
    assert {**first, "repeated": True} == repeated
    assert isinstance(too, Killed)
    assert ["kept"] == await texts(peer, "demo")


async def test_a_text_that_is_sent_twice_in_a_row(connect: Connect) -> None:
    """A text with a key that arrives twice in one piece, among others, is added once."""
    peer = connect()
    await peer.call("create", "demo")
    keyed = {"agent": "demo", "messages": "twice", "key": "k"}
    _, first, _, second, _ = await peer.ask(
        *(("add", {"agent": "demo", "messages": "x"} | more) for more in ({}, keyed) * 2), ("ping",)
    )

    assert isinstance(first, dict)
    assert {**first, "repeated": True} == second
    assert ["x", "twice", "x"] == await texts(peer, "demo")
