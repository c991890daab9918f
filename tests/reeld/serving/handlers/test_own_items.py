"""Items in a client's own format, which come with what they say, added and read through a connection."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import parse
from reel.said.item_forms import canonical
from tests.reeld.serving.conftest import Connect, Peer

MINE = "x-mine"
ASK = {"kind": "ask", "words": "What is a tape deck?", "mood": None, "part": 1.0}
ANSWER = {"kind": "answer", "thought": "An old machine.", "words": "It plays tapes.", "cost": 12345678901234567890123}
SAID: list[Any] = [
    [{"role": "user", "content": "What is a tape deck?"}],
    [
        {"role": "assistant", "content": [{"type": "thinking", "text": "An old machine."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It plays tapes."}]},
    ],
]


async def add(peer: Peer, items: Any, messages: Any, **more: Any) -> dict[str, Any]:
    return await peer.call(
        "add", {"agent": "demo", "items": json.dumps(items), "format": MINE, "messages": messages, **more}
    )


async def page(peer: Peer, **more: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await peer.call("messages", {"agent": "demo", "format": MINE, **more}))["items"]
    return items


async def test_they_are_read_as_they_were_added(connect: Connect) -> None:
    """The client gets its items back, everybody else messages; what others add is a message for the client, too."""
    peer = connect()
    added = await add(peer, [ASK, ANSWER], SAID, create=True, refs=["a", "b"], sent=[5, None])
    await peer.call("add", "demo", "Thanks!")
    first, second, third = await page(peer)
    messages = (await peer.call("messages", "demo"))["messages"]

    assert [first["seq"], second["seq"]] == added["seqs"]
    assert [canonical(ASK), canonical(ANSWER)] == [canonical(parse(item["item_json"])) for item in (first, second)]
    assert ("a", 5) == (first["ref"], first["sent"])
    assert ["user", "assistant", "assistant", "user"] == [message["role"] for message in messages]
    assert ["text", "thinking", "text", "text"] == [message["content"][0]["type"] for message in messages]
    assert messages[-1] == third["message"]
    assert "item_json" not in third
    assert [third] == await page(peer, last=1)
    assert [second, third] == await page(peer, since=first["seq"])
    assert [{"index": 0, "seq": first["seq"]}] == (await add(peer, [ASK], SAID[:1], refs=["a"]))["known"]


async def test_calls_and_results(connect: Connect) -> None:
    """What an item says may be a call or a result of a tool."""
    call = {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": "{}"}
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "A machine."}
    peer = connect()
    said = [[{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]]
    await add(peer, [ASK], said, create=True)

    assert ["tool_call", "tool_result"] == [
        message["content"][0]["type"] for message in (await peer.call("messages", "demo"))["messages"]
    ]
    assert [canonical(ASK)] == [canonical(parse(item["item_json"])) for item in await page(peer)]


async def test_another_format_reads_them_as_messages(connect: Connect) -> None:
    """A provider's words for them are those of their messages."""
    peer = connect()
    await add(peer, [ASK], SAID[:1], create=True)
    read = await peer.call("messages", {"agent": "demo", "format": "openai-chat"})

    assert [{"role": "user", "content": "What is a tape deck?"}] == [parse(item["item_json"]) for item in read["items"]]


async def test_they_replace_those_from_a_seq_on(connect: Connect) -> None:
    """With ``from`` they replace what is there, and there may be none."""
    peer = connect()
    seqs = (await add(peer, [ASK, ANSWER], SAID, create=True))["seqs"]
    await add(peer, [], [], **{"from": seqs[1]})

    assert seqs[:1] == [item["seq"] for item in await page(peer)]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"messages": None}, "messages is required: the daemon cannot read items of the format 'x-mine'"),
    ({"messages": [[]]}, "messages[0]: expected a list of at least one message, got an empty one"),
    ({"messages": SAID[:1], "model": "m"}, "model: set it in the provider_metadata"),
    ({"messages": SAID[:1], "format": "mine"}, "format: expected openai-chat, "),
    ({"messages": SAID[:1], "format": "x-"}, "format: expected openai-chat, "),
    ({"messages": SAID[:1], "format": "openai-chat"}, "items: give messages or items, not both"),
]


@pytest.mark.parametrize(("params", "why"), REFUSED)
async def test_they_are_refused(connect: Connect, params: dict[str, Any], why: str) -> None:
    """What cannot be stored is refused before anything changes."""
    peer = connect()
    with pytest.raises((InvalidMessage, InvalidParams)) as refused:
        await peer.call("add", {"agent": "demo", "create": True, "items": [ASK], "format": MINE, **params})

    assert refused.value.message.startswith(why)
    assert [] == (await peer.call("agents"))["agents"]
