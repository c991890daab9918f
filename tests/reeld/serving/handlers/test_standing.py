"""``if_stands``: an answer is added as long as what it answers is in the conversation."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict, InvalidParams
from reeld.serving.call import Services
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reeld.serving.conftest import Connect, Peer

WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "A1"}, "finish_reason": "stop"}]}
BODY = json.dumps({"object": "chat.completion", **WHOLE})
# What may happen to a conversation while a model answers #4, without making the answer wrong.
HARMLESS: dict[str, list[tuple[Any, ...]]] = {
    "nothing": [],
    "a title": [("change", "demo", {"title": "T"})],
    "tags": [("change", "demo", {"tags": {"a": "b"}})],
    "another name": [("change", "demo", {"name": "other"})],
    "a mark": [("mark", "demo", "here")],
    "a value": [("add", "demo", [{"kind": "state", "content": "step", "data_json": '{"value":1}'}])],
    "a note": [("add", "demo", [{"kind": "note", "content": "look"}])],
    "usage": [("add", "demo", [{"kind": "usage", "data_json": '{"usage":{}}'}])],
    "a redaction": [("redact", "demo", {"seqs": [3]})],
    "a clone": [("clone", "demo", "copy")],
    "a death": [("kill", "demo"), ("revive", "demo")],
    "an undo of what came later": [("add", "demo", "U2"), ("undo", "demo")],
    "a rewind to what came later": [("mark", "demo", "m"), ("add", "demo", "U2"), ("rewind", "demo", "m")],
    "an undo that was redone": [("undo", "demo"), ("redo", "demo")],
}
# What makes it an answer to what nobody said any more.
GONE: dict[str, list[tuple[Any, ...]]] = {
    "a clear": [("clear", "demo")],
    "an undo": [("undo", "demo")],
    "a rewind": [("rewind", "demo", "before")],
    "a replacement": [("add", "demo", "other", {"from": 4})],
    "another prompt": [("add", "demo", [{"role": "system", "content": "Be long."}])],
    "no prompt": [("add", "demo", [{"role": "system", "content": ""}])],
    "a restore": [("restore", "demo", 3)],
    # Whose message at that seq is another one.
    "another conversation": [
        ("create", "source"),
        ("add", "source", ["1", "2", "3", "4", "5"]),
        ("clone", "source", {"into": "demo"}),
    ],
}


async def asked(connect: Connect) -> tuple[Peer, str]:
    """Return a client, and the id of an agent: a prompt (#2), a mark (#3), a question (#4)."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    created = await peer.call("create", "demo", "Be brief.")
    await peer.call("mark", "demo", "before")
    await peer.call("add", "demo", "U1")
    return peer, created["id"]


def ways(agent: str, seq: int) -> dict[str, tuple[Any, ...]]:
    """Return each way to add an answer to an entry."""
    message, item = {"role": "assistant", "content": "A1"}, {"role": "assistant", "content": "A1"}
    return {
        "ingest": ("ingest", agent, "openai-chat", BODY, {"if_stands": seq}),
        "add": ("add", agent, [message], {"if_stands": seq}),
        "items": ("add", {"agent": agent, "items": [item], "format": "openai-chat", "if_stands": seq}),
        "commit": ("commit", [{"method": "add", "agent": agent, "messages": [message], "if_stands": seq}]),
    }


WAYS = list(ways("", 0))


async def said(peer: Peer, agent: str) -> list[str]:
    """Return the texts of the conversation."""
    page = await peer.call("messages", agent)
    return [block.get("text", "") for message in page["messages"] for block in message["content"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("event", HARMLESS)
async def test_what_does_not_touch_what_is_answered(connect: Connect, event: str, way: str) -> None:
    """The answer is added whatever happened besides, and is at its place at once."""
    peer, agent = await asked(connect)
    await peer.ask(*HARMLESS[event])
    reply = await peer.call(*ways(agent, 4)[way])

    assert "A1" == (await said(peer, agent))[-1]
    assert "late" not in reply
    assert [] == (await peer.call("verify"))["problems"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("event", GONE)
async def test_what_takes_back_what_is_answered(connect: Connect, event: str, way: str) -> None:
    """The answer is refused, and nothing is added."""
    peer, agent = await asked(connect)
    await peer.ask(*GONE[event])
    head = (await peer.call("agent", agent))["head"]
    with pytest.raises(Conflict) as refused:
        await peer.call(*ways(agent, 4)[way])

    assert (head, 4) == (refused.value.data["head"], refused.value.data["if_stands"])
    assert head == (await peer.call("agent", agent))["head"]


@pytest.mark.parametrize("way", WAYS)
async def test_somebody_spoke_meanwhile(connect: Connect, way: str) -> None:
    """The answer comes behind it and says so; the next request has it before, and the other waits for an answer."""
    peer, agent = await asked(connect)
    await peer.call("add", agent, ["U2", "U3"])
    reply = await peer.call(*ways(agent, 4)[way])
    rendered = await peer.call("render", agent, "openai-chat")

    assert 2 == (reply.get("late") or reply["results"][0]["late"])
    assert ["U1", "U2", "U3", "A1"] == await said(peer, agent)
    sent = [message["content"] for message in json.loads(rendered["body"])["messages"]]
    assert ["Be brief.", "U1", "A1", "U2", "U3"] == [
        each if isinstance(each, str) else each[0]["text"] for each in sent
    ]
    assert rendered["ready"]
    assert (await peer.call("agent", agent))["ready"]
    assert "assistant" == (await peer.call("agents", {"details": True}))["agents"][0]["turn"]
    assert (agent, 7) == (rendered["agent"], rendered["newest"])
    assert [] == (await peer.call("verify"))["problems"]


async def test_a_late_answer_with_calls(connect: Connect) -> None:
    """Its calls wait first, then what was said meanwhile."""
    peer, agent = await asked(connect)
    await peer.call("add", agent, "U2")
    reply = await peer.call("ingest", agent, "openai-chat", json.dumps(CHAT.body), {"if_stands": 4})
    waiting = (await peer.call("agent", agent))["ready"]
    results = [{"type": "tool_result", "tool_call_id": call["id"], "content": "x"} for call in reply["open_calls"]]
    await peer.call("add", agent, [{"role": "tool", "content": results}])

    assert not waiting
    assert (await peer.call("agent", agent))["ready"]


async def test_an_item_that_comes_late_keeps_its_form(connect: Connect) -> None:
    """It comes back as it was given, although its message says how late it is."""
    peer, agent = await asked(connect)
    item = {"role": "assistant", "content": [{"type": "text", "text": "This is A1."}]}
    await peer.call("add", agent, "U2")
    await peer.call("add", {"agent": agent, "items": [item], "format": "openai-chat", "if_stands": 4})
    page = await peer.call("messages", agent, {"format": "openai-chat", "since": 5})

    assert [item] == [json.loads(each["item_json"]) for each in page["items"]]


async def test_another_answer_came_first(connect: Connect) -> None:
    """Both are kept, the second one behind the first."""
    peer, agent = await asked(connect)
    await peer.call("add", agent, [{"role": "assistant", "content": "A0"}, "U2"])
    reply = await peer.call(*ways(agent, 4)["ingest"])

    assert "late" not in reply
    assert ["U1", "A0", "U2", "A1"] == await said(peer, agent)


async def test_what_is_answered_is_long_ago(connect: Connect, services: Services) -> None:
    """It stands although it is not in memory any more; what is gone from there does not."""
    peer, agent = await asked(connect)
    await peer.call("add", agent, [f"more {number}" for number in range(3000)])
    live = await services.registry.find(agent)
    live.shrink()
    assert live.committed.conversation.base is not None
    with pytest.raises(Conflict):
        await peer.call("add", agent, "x", {"if_stands": 3})
    await peer.call(*ways(agent, 4)["ingest"])

    newest = (await peer.call("messages", agent, {"last": 1}))["messages"]
    assert "A1" == newest[0]["content"][0]["text"]


async def test_an_empty_conversation_that_is_answered(connect: Connect) -> None:
    """0 is the empty conversation, which always stands, but not under another prompt."""
    peer = connect()
    await peer.call("create", "demo")
    await peer.call("add", "demo", [{"role": "assistant", "content": "Hello!"}], {"if_stands": 0})
    await peer.call("add", "demo", [{"role": "system", "content": "Be brief."}])
    with pytest.raises(Conflict):
        await peer.call("add", "demo", [{"role": "assistant", "content": "Hello!"}], {"if_stands": 0})


@pytest.mark.parametrize("way", WAYS)
async def test_if_stands_excludes_if_seq(connect: Connect, way: str) -> None:
    """They ask for different things."""
    peer, agent = await asked(connect)
    method, *params = ways(agent, 4)[way]
    if way == "commit":
        params[0][0]["if_seq"] = 4
    else:
        params[-1]["if_seq"] = 4
    with pytest.raises(InvalidParams, match="if_stands"):
        await peer.call(method, *params)
