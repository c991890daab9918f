"""``ingest`` and ``load``: one command each, all of it or none."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict, InvalidMessage, InvalidParams, Killed, NotFound, ReelError
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reeld.serving.conftest import Connect, Peer

BODY = json.dumps(CHAT.body)
REQUEST = json.dumps(
    {
        "model": "gpt-5",
        "tools": [],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What?"}],
    }
)


async def kinds(peer: Peer, agent: str = "demo") -> list[tuple[int, int, str]]:
    """Return the events of an agent: seq, command, kind."""
    return [(event["seq"], event["command"], event["kind"]) for event in (await events(peer, agent))]


async def events(peer: Peer, agent: str = "demo") -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = (await peer.call("history", agent))["events"]
    return events


@pytest.mark.parametrize("body", [BODY, CHAT.data.decode()], ids=["whole", "streamed"])
async def test_ingest_of_an_answer(connect: Connect, body: str) -> None:
    """An ingested answer is one message, then its usage; its calls are open, and one undo takes all of it back."""
    peer = connect()
    await peer.call("add", "demo", "What?", {"create": True})
    added = await peer.call("ingest", "demo", "openai-chat", body)

    assert [(2, 1, "user"), (3, 3, "assistant"), (4, 3, "usage")] == (await kinds(peer))[1:]
    assert (3, 4, 3) == (added["first"], added["head"], added["command"])
    assert ["call_1", "call_2"] == [call["id"] for call in added["open_calls"]]
    assert 3 == (await peer.call("undo", "demo"))["undone"]
    assert 1 == (await peer.call("agent", "demo"))["messages"]


@pytest.mark.parametrize("body", [BODY, CHAT.data.decode()[:900]], ids=["whole", "broke-off"])
async def test_an_answer_that_is_only_read(connect: Connect, body: str) -> None:
    """``parse`` returns what ``ingest`` would add, and adds nothing; what is no answer is refused alike."""
    peer = connect()
    await peer.call("add", "demo", "What?", {"create": True})
    found = await peer.call("parse", "openai-chat", body, {"model": "gpt-5"})
    before = await events(peer)
    await peer.call("ingest", "demo", "openai-chat", body, {"model": "gpt-5"})
    await peer.call("add", "copy", [found["message"], *found["records"]], {"create": True})
    said = [(await peer.call("messages", agent, {"last": 1}))["messages"][0] for agent in ("demo", "copy")]

    assert 2 == len(before)
    assert said[0]["content"] == said[1]["content"]
    assert said[0]["provider_metadata"] == said[1]["provider_metadata"]
    added = [[(each["kind"], each["data_json"]) for each in await events(peer, name)][-2:] for name in ("demo", "copy")]
    assert added[0] == added[1]
    with pytest.raises(InvalidMessage, match="the answer has no content"):
        await peer.call("parse", "openai-chat", "nothing")


async def test_an_answer_that_broke_off(connect: Connect) -> None:
    """An incomplete answer is kept as far as it came, and marked in the same command."""
    peer = connect()
    await peer.call("create", "demo")
    await peer.call("ingest", "demo", "openai-chat", CHAT.data.decode()[:900])
    await peer.call("ingest", "demo", "openai-chat", BODY, {"interrupted": True})

    assert [(2, "assistant"), (2, "interrupted"), (4, "assistant"), (4, "usage"), (4, "interrupted")] == [
        (command, kind) for _, command, kind in (await kinds(peer))[1:]
    ]


async def test_a_model_that_is_no_text(connect: Connect) -> None:
    """If the model that a response names is not a text, the requested model counts as the one that answered."""
    peer = connect()
    await peer.call("create", "demo")
    await peer.call("ingest", "demo", "openai-chat", json.dumps({**CHAT.body, "model": 1}), {"model": "gpt-5"})

    (answer,) = (await peer.call("messages", "demo"))["messages"]
    assert "gpt-5" == answer["provider_metadata"]["model"]


async def test_names_and_model(connect: Connect) -> None:
    """Tools get their original names back, and the message names the model that answered."""
    peer = connect()
    await peer.call("create", "demo")
    body = json.dumps({key: value for key, value in CHAT.body.items() if key != "model"})
    await peer.call("ingest", "demo", "openai-chat", body, "gpt-7", {"names": {"time": "the time"}})
    (message,) = (await peer.call("messages", "demo"))["messages"]

    assert ["weather", "the time"] == [block["name"] for block in message["content"] if "name" in block]
    assert "gpt-7" == message["provider_metadata"]["model"]


async def test_a_history(connect: Connect) -> None:
    """The prompt and the messages are added in one command; what was left out is reported."""
    peer = connect()
    await peer.call("create", "demo")
    loaded = await peer.call("load", "demo", "openai-chat", REQUEST)

    assert [(2, 2, "system"), (3, 2, "user")] == (await kinds(peer))[1:]
    assert (2, 3) == (loaded["first"], loaded["head"])
    assert ["dropped"] == [change["action"] for change in loaded["report"]]
    assert "Be brief." == (await peer.call("agent", "demo"))["system"]


@pytest.mark.parametrize(("method", "body"), [("ingest", BODY), ("load", REQUEST)])
async def test_load_creates_the_agent(connect: Connect, method: str, body: str) -> None:
    """With ``create`` a missing agent is made in the same command."""
    peer = connect()
    with pytest.raises(NotFound):
        await peer.call(method, "demo", "openai-chat", body)
    made = await peer.call(method, "demo", "openai-chat", body, {"create": True, "key": "k"})
    again = await peer.call(method, "demo", "openai-chat", body, {"create": True, "key": "k"})

    assert [1, 1, 1] == [command for _, command, _ in await kinds(peer)]
    assert 2 == made["first"]
    assert {**made, "repeated": True} == again


@pytest.mark.parametrize(("method", "body"), [("ingest", BODY), ("load", REQUEST)])
async def test_ingest_with_if_seq_and_key(connect: Connect, method: str, body: str) -> None:
    """``if_seq`` and ``key`` work as for every command; nothing is added to a dead agent."""
    peer = connect()
    await peer.call("create", "demo")
    with pytest.raises(Conflict):
        await peer.call(method, "demo", "openai-chat", body, {"if_seq": 9})
    first = await peer.call(method, "demo", "openai-chat", body, {"key": "k"})
    again = await peer.call(method, "demo", "openai-chat", body, {"key": "k"})
    with pytest.raises(Conflict):
        await peer.call(method, "demo", "openai-chat", body.replace("gpt", "gtp"), {"key": "k"})
    await peer.call("kill", "demo")
    with pytest.raises(Killed):
        await peer.call(method, "demo", "openai-chat", body)

    assert {**first, "repeated": True} == again


@pytest.mark.parametrize(
    ("method", "params", "error", "about"),
    [
        ("ingest", ["openai-chat", "data: x"], InvalidMessage, "body: the answer has no content"),
        ("ingest", ["openai-chat", {}], InvalidParams, "body is missing"),
        ("ingest", ["openai-chat", 7], InvalidParams, "body: expected the body as text, got an integer"),
        ("ingest", ["openai-chat", "{}", {"names": {"a": 7}}], InvalidParams, "names: a: expected a string"),
        ("ingest", ["cohere", "{}"], InvalidParams, "format: expected"),
        ("load", ["openai-chat", "x"], InvalidMessage, "body: invalid JSON"),
        ("load", ["openai-chat", '{"messages": [{"role": "x"}]}'], InvalidMessage, "messages[0].role"),
    ],
)
async def test_an_invalid_body_is_refused(
    connect: Connect, method: str, params: list[Any], error: type[ReelError], about: str
) -> None:
    """An invalid body adds nothing, and the error says where it is wrong."""
    peer = connect()
    await peer.call("create", "demo")
    with pytest.raises(error) as caught:
        await peer.call(method, "demo", *params)

    assert caught.value.message.startswith(about)
    assert 1 == (await peer.call("agent", "demo"))["head"]


async def test_invalid_characters_of_a_body_are_replaced(connect: Connect) -> None:
    """Characters that a text cannot have are replaced and counted."""
    peer = connect()
    await peer.call("create", "demo")
    body = BODY.replace("Let me", r"\ud83d Let \u0000 me", 1)

    assert 2 == (await peer.call("ingest", "demo", "openai-chat", body))["replaced"]


async def test_large_numbers_of_a_body(connect: Connect) -> None:
    """Large numbers stay in the log as they came; those that a message shows are text, and counted."""
    peer = connect()
    body = BODY.replace('"prompt_tokens": ', '"prompt_tokens": 9007199254740993, "x": ')
    body = body.replace('"id": ', '"id": 7e999, "y": ', 1)
    added = await peer.call("ingest", "demo", "openai-chat", body, {"create": True})
    (message,) = (await peer.call("messages", "demo"))["messages"]
    used = (await events(peer))[-1]["data_json"]

    assert 2 == added["numbers_as_text"]
    assert "7e999" == message["provider_metadata"]["response_id"]
    assert "9007199254740993" == message["provider_metadata"]["usage"]["prompt_tokens"]
    assert '"response_id":7e999' in used
    assert '"prompt_tokens":9007199254740993' in used


async def test_ingest_keeps_the_order_of_a_connection(connect: Connect) -> None:
    """The calls of one connection take effect in order, although a body is read in a thread."""
    peer = connect()
    await peer.call("create", "demo")
    await peer.ask(
        ("ingest", "demo", "openai-chat", BODY), ("add", "demo", "And?"), ("load", "demo", "openai-chat", REQUEST)
    )

    assert ["assistant", "usage", "user", "system", "user"] == [kind for _, _, kind in (await kinds(peer))[1:]]


async def test_the_model_that_was_rendered_for_is_kept_with_its_answer(connect: Connect) -> None:
    """A client need not repeat it; the next answer has none, and a client may name another (rule X16)."""
    peer = connect()
    await peer.call("add", "demo", "What?", {"create": True})
    await peer.call("render", "demo", "openai-chat", {"model": "my-deployment"})
    for asked in ({}, {}, {"model": "an-alias"}):
        await peer.call("ingest", "demo", "openai-chat", BODY, asked)
    messages = (await peer.call("messages", "demo"))["messages"]

    assert [None, "my-deployment", None, "an-alias"] == [
        message["provider_metadata"].get("asked_model") for message in messages
    ]
