"""The mark of a later result, wherever messages are read and however it came there."""

import json
from typing import Any

import pytest

from reel.said.messages import SUPERSEDES
from reeld.serving.call import Services
from tests.reeld.formats.histories import call, model, result, tool
from tests.reeld.serving.conftest import Connect, Peer

ASKED: list[Any] = ["Hi", model(call()), tool(result("c1", "confirm?"))]
SPOKEN: list[Any] = [*ASKED, model("Shall I?"), "Yes"]
DONE = tool(result("c1", "deleted"))
RECORD = {"kind": "tool_result", "data_json": '{"tool_call_id":"c1","output":"deleted","success":true}'}
ITEM = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "deleted"}]}
BACK = {"kind": "rewind", "data_json": '{"before":7}'}
MARK = {SUPERSEDES: ["c1"]}


async def marks(peer: Peer, agent: str = "demo", **how: Any) -> list[int]:
    """Return the seqs of the marked messages, and require that it is the mark of the call."""
    page = (await peer.call("messages", agent, how))["messages"]
    marked = [message for message in page if SUPERSEDES in message["provider_metadata"]]
    assert all(message["provider_metadata"].keys() <= {SUPERSEDES, "item"} for message in marked)
    assert all(message["provider_metadata"][SUPERSEDES] == ["c1"] for message in marked)
    return [message["seq"] for message in marked]


# Each way to add a result behind ``SPOKEN``: the calls that do it.
WAYS: dict[str, list[tuple[Any, ...]]] = {
    "add": [("add", "demo", [DONE])],
    "add with a reference": [("add", "demo", [{**DONE, "ref": "r"}])],
    "add with a condition": [("add", "demo", [DONE], {"if_stands": 6})],
    "a record": [("add", "demo", [RECORD])],
    "a part of several": [("commit", [{"method": "add", "agent": "demo", "messages": [DONE]}])],
    "an item": [("add", {"agent": "demo", "format": "openai-chat", "items": [ITEM]})],
    "a stretch of a log": [("append", "demo", [{"kind": "user", "content": "x"}, BACK, DONE])],
    "messages that replace others": [("add", "demo", ["No"]), ("add", "demo", [DONE], {"from": 7})],
}


@pytest.mark.parametrize("way", WAYS)
async def test_however_a_later_result_is_added(connect: Connect, way: str) -> None:
    """It is marked, and nothing else is."""
    peer = connect()
    await peer.call("add", "demo", SPOKEN, {"create": True})
    for method, *params in WAYS[way]:
        await peer.call(method, *params)
    newest = (await peer.call("agent", "demo"))["head"]

    assert [newest] == await marks(peer)


async def test_wherever_a_message_is_read(connect: Connect) -> None:
    """Whole or in pages, pushed or caught up on, in a clone and after a replay, the mark is the same."""
    peer, follower = connect(), connect()
    await peer.call("add", "demo", SPOKEN, {"create": True})
    await follower.call("subscribe", "demo")
    await peer.call("add", "demo", [DONE, "Thanks"])
    await peer.call("clone", "demo", "copy")
    late = connect()
    await late.call("subscribe", "demo", {"since": 5})

    for subscriber in (follower, late):
        pushed = [event["message"] for event in await subscriber.events(8) if event["seq"] == 7]
        assert [MARK] == [message["provider_metadata"] for message in pushed]
    assert [[7], [7], [7], []] == [
        await marks(peer), await marks(peer, last=2), await marks(peer, since=6), await marks(peer, at=6)
    ]  # fmt: skip
    assert [7] == await marks(peer, "copy")
    assert (await peer.call("replay", "demo"))["matched"]
    assert [7] == await marks(peer)


async def test_results_that_are_written_together(connect: Connect) -> None:
    """What takes the place of what is in the same transaction is marked too."""
    peer = connect()
    await peer.call("create", "demo")
    await peer.ask(*(("add", "demo", [message]) for message in (*ASKED, DONE)))

    assert [5] == await marks(peer)


async def test_after_an_undo_a_first_result_is_not_marked(connect: Connect) -> None:
    """What a result takes the place of is what is before it in the conversation, not in the log."""
    peer = connect()
    await peer.call("add", "demo", ASKED[:2], {"create": True})
    await peer.call("add", "demo", ASKED[2:])
    await peer.call("undo", "demo")
    await peer.call("add", "demo", [DONE])
    await peer.call("add", "demo", [DONE])

    assert [7] == await marks(peer)
    await peer.call("undo", "demo")
    await peer.call("redo", "demo")
    assert [7] == await marks(peer)


async def test_a_call_that_is_not_in_memory(connect: Connect, services: Services) -> None:
    """It is looked for in the log, and the order of what is sent together stays."""
    peer = connect()
    await peer.call("add", "demo", ASKED, {"create": True})
    await peer.call("add", "demo", [f"more {number}" for number in range(999)])
    (agent,) = services.registry.live()
    agent.shrink()
    assert agent.committed.conversation.base is not None
    await peer.ask(("add", "demo", "1"), ("add", "demo", [DONE]), ("add", "demo", [tool(result("x"))]))
    await peer.ask(("add", "demo", [{**DONE, "ref": "r"}]), ("add", "demo", "2"))
    head = (await peer.call("agent", "demo"))["head"]

    assert [1005, 1007] == await marks(peer, last=6)
    assert 1008 == head


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("openai-chat", ITEM),
        ("openai-chat", {"role": "tool", "tool_call_id": "c1", "content": "deleted"}),
        ("openai-responses", {"type": "function_call_output", "call_id": "c1", "output": "deleted", "status": "x"}),
        ("x-mine", {"who": "tool", "what": "deleted, as you wished"}),
    ],
)
async def test_an_item_keeps_its_form(connect: Connect, name: str, item: dict[str, Any]) -> None:
    """The item of a marked result comes back as it was given."""
    peer = connect()
    messages = {"messages": [[DONE]]} if name == "x-mine" else {}
    await peer.call("add", "demo", SPOKEN, {"create": True})
    await peer.call("add", {"agent": "demo", "format": name, "items": [item], **messages})
    page = await peer.call("messages", "demo", {"format": name, "since": 6})

    assert [item] == [json.loads(each["item_json"]) for each in page["items"]]
    assert [7] == await marks(peer)
