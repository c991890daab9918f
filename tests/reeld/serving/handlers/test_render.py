"""``render``: the live conversation or an earlier one, while others are served."""

import json
import random
import threading
from functools import partial
from typing import Any

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import Conflict, InvalidParams, NoSuchMark, ReelError, TooLarge
from reeld.formats.table import FORMATS
from reeld.serving.call import Services
from reeld.serving.handlers import render as render_handler
from tests.formats.checker import check
from tests.reeld.serving.conftest import Connect, Peer
from tests.thoroughness import THOROUGH, sampled

CALL = {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}]}


async def talk(peer: Peer) -> None:
    """Make an agent: seq 1 created, 2 the prompt, 3 a question, 4 its answer, 5 a mark, 6 another question."""
    await peer.call("create", "demo", "Be brief.")
    await peer.call("add", "demo", ["What?", {"role": "assistant", "content": "That."}])
    await peer.call("mark", "demo", "here")
    await peer.call("add", "demo", "Why?")


async def body(peer: Peer, agent: str = "demo", **more: Any) -> Any:
    """Render for Anthropic."""
    return json.loads((await peer.call("render", agent, "anthropic", more))["body"])


async def test_render_in_a_dialect(connect: Connect) -> None:
    """It is one of the format's; without one, or with another, the state that is kept is not used."""
    peer = connect()
    await talk(peer)
    bodies = [
        (await peer.call("render", "demo", "openai-chat", {"dialect": dialect}))["body"]
        for dialect in ("openai", "deepseek", "openai")
    ]
    with pytest.raises(InvalidParams, match="ollama has no dialects"):
        await peer.call("render", "demo", "ollama", {"dialect": "deepseek"})
    with pytest.raises(InvalidParams, match="expected openai, deepseek, "):
        await peer.call("render", "demo", "openai-chat", {"dialect": "gpt"})

    assert [False, True, False] == ["reasoning_content" in body for body in bodies]


async def test_the_dialect_of_an_answer_comes_back_with_the_prefix(connect: Connect) -> None:
    """What one server signed goes back to it, and not to the other one."""
    peer = connect()
    await talk(peer)
    part = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "U0lHTkVE"}
    asked = await peer.call("render", "demo", "gemini", {"dialect": "vertex"})
    answer = json.dumps({"candidates": [{"content": {"role": "model", "parts": [part]}}]})
    await peer.call("ingest", "demo", "gemini", answer, {"prefix": asked["prefix"]})
    bodies = [
        (await peer.call("render", "demo", "gemini", {"dialect": dialect}))["body"]
        for dialect in ("vertex", "ai-studio")
    ]

    assert [True, False] == ["U0lHTkVE" in body for body in bodies]


@pytest.mark.parametrize("name", FORMATS)
async def test_render_of_a_conversation(connect: Connect, name: str) -> None:
    """The body is valid for the provider; the reply has the seq it was taken at, and what became of the body."""
    peer = connect()
    await talk(peer)
    extras: dict[str, Any] = {"anthropic": {"model": "claude-opus-4", "max_tokens": 9}, "gemini": {}}
    extra = extras.get(name, {"model": "gpt-5"})
    reply = await peer.call("render", "demo", name, {"extra": extra})

    assert [] == check(name.replace("-", "_"), json.loads(reply["body"]))
    assert {"format": name, "at": 6, "ready": True, "report": []} == {
        key: reply[key] for key in ("format", "at", "ready", "report")
    }
    # In some formats, such as Chat Completions, the prompt is an entry like the others.
    first = json.loads(reply["body"])[FORMATS[name].history_key][0]
    assert 2 + ("system" in (first.get("role"), first.get("type"))) == reply["prefix"]["messages"]
    assert {"body", "prefix", "agent", "newest"} == set(reply) - {"format", "at", "ready", "report"}


@pytest.mark.parametrize("name", FORMATS)
async def test_a_question_about_a_conversation(connect: Connect, name: str) -> None:
    """What is asked with ``then`` is behind the conversation, with open calls closed, as if it had been added."""
    peer = connect()
    await talk(peer)
    await peer.call("add", "demo", CALL)
    extra = {"anthropic": {"model": "claude-opus-4", "max_tokens": 9}, "gemini": {}}.get(name, {"model": "gpt-5"})
    aside = await peer.call("render", "demo", name, {"extra": extra, "then": "Sum up."})
    before = await peer.call("render", "demo", name, {"extra": extra})
    added = await peer.call("add", "demo", "Sum up.")
    after = await peer.call("render", "demo", name, {"extra": extra})

    assert [] == check(name.replace("-", "_"), json.loads(aside["body"]))
    assert (7, 8) == (before["at"], added["head"])
    assert "Sum up." not in before["body"]
    assert (after["body"], after["ready"], 7) == (aside["body"], aside["ready"], aside["newest"])


async def test_a_question_about_an_earlier_position(connect: Connect) -> None:
    """It is behind that, several messages as well; an empty conversation can be asked about, too."""
    peer = connect()
    await talk(peer)
    await peer.call("create", "empty")
    then = ["Sum up.", {"role": "assistant", "content": "It was"}, "Go on."]

    found = await body(peer, at=4, then=then)
    assert ["What?", "That.", "Sum up.", "It was", "Go on."] == [
        message["content"][0]["text"] for message in found["messages"]
    ]
    assert 1 == len((await body(peer, "empty", then="Hello?"))["messages"])


async def test_a_question_about_the_beginning(connect: Connect) -> None:
    """With ``upto`` it is about what was said until then, also in the middle of a command, under the current prompt."""
    peer = connect()
    await talk(peer)
    await peer.call("add", "demo", {"role": "system", "content": "Be kind."})
    found = await body(peer, upto=3, then="Sum up.")
    without = await body(peer, upto=3)
    limited = await body(peer, upto=3, budget=1000)

    assert ["What?", "Sum up."] == [block["text"] for message in found["messages"] for block in message["content"]]
    assert "Be kind." in json.dumps(found["system"])
    assert ["What?"] == [block["text"] for message in without["messages"] for block in message["content"]]
    assert without == limited
    assert (await body(peer)) == (await body(peer, upto=7))


async def test_a_question_is_no_part_of_what_is_kept(connect: Connect, services: Services) -> None:
    """The rendering that is kept for the next time, and the model that is remembered, are those of the conversation."""
    peer = connect()
    await talk(peer)
    first = await peer.call("render", "demo", "anthropic", {"model": "claude-opus-4"})
    kept = services.render_cache.size
    await peer.call("render", "demo", "anthropic", {"model": "claude-haiku-4-5", "then": "Sum up."})
    answer = json.dumps({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "So."}]})
    await peer.call("ingest", "demo", "anthropic", answer)
    answered = (await peer.call("messages", "demo", {"last": 1}))["messages"][0]

    assert kept <= services.render_cache.size
    assert "claude-opus-4" == answered["provider_metadata"]["model"]
    assert (await peer.call("render", "demo", "anthropic", {"after": first["prefix"]}))["extends"]


@pytest.mark.parametrize(
    ("then", "error"),
    [
        ([{"role": "system", "content": "x"}], "then: expected messages of a user, an assistant or a tool"),
        ([{"kind": "note", "content": "x"}], "then: expected messages of a user, an assistant or a tool"),
        ([{"role": "user", "content": 1}], r"messages\[0\].content"),
        ([], "expected a string, a message or a list"),
    ],
)
async def test_a_question_that_is_no_message(connect: Connect, then: Any, error: str) -> None:
    """It is refused, with the reason."""
    peer = connect()
    await talk(peer)

    with pytest.raises(ReelError, match=error):
        await peer.call("render", "demo", "anthropic", {"then": then})


async def test_render_at_an_earlier_position(connect: Connect) -> None:
    """``at`` renders a past state, even a rewound one; the head is the current one."""
    peer = connect()
    await talk(peer)
    now = await body(peer)
    await peer.call("rewind", "demo", "here")

    assert [["What?", "That."], ["What?", "That."], ["What?", "That.", "Why?"]] == [
        [message["content"][0]["text"] for message in (await body(peer, at=at))["messages"]] for at in (4, 5, 6)
    ]
    assert now == await body(peer, at=6)
    assert await body(peer) == await body(peer, at=7)
    with pytest.raises(InvalidParams, match=r"positions 0 to 7, not 8"):
        await body(peer, at=8)


async def test_a_second_render_keeps_the_prefix(connect: Connect, services: Services) -> None:
    """An added message keeps the body's prefix, a rewind does not, and the reply says which."""
    peer = connect()
    await talk(peer)
    first = await peer.call("render", "demo", "anthropic")
    kept = services.render_cache.size
    await peer.call("add", "demo", [{"role": "assistant", "content": "Because."}, "And?"])
    second = await peer.call("render", "demo", "anthropic", {"after": first["prefix"]})
    grown = services.render_cache.size
    await peer.call("restore", "demo", 3)
    third = await peer.call("render", "demo", "anthropic", {"after": second["prefix"]})

    assert (True, False) == (second["extends"], third["extends"])
    assert ["prefix_changed"] == [change["action"] for change in third["report"]]
    assert 0 < kept < grown


async def test_another_history_of_the_same_length(connect: Connect) -> None:
    """A cached rendering is not used for another history of the same length."""
    peer = connect()
    await peer.call("create", "demo")
    rendered = []
    for word in ("one", "two"):
        await peer.call("add", "demo", [word, {"role": "assistant", "content": word}, word])
        rendered.append([message["content"][0]["text"] for message in (await body(peer))["messages"]])
        await peer.call("clear", "demo")

    assert [["one"] * 3, ["two"] * 3] == rendered


@pytest.mark.slow
@sampled
async def test_what_is_kept_is_never_stale(connect: Connect, services: Services) -> None:
    """After every command the cached rendering equals one made from the log alone."""
    peer, chance = connect(), random.Random(7)  # a fixed sequence of commands
    await talk(peer)
    commands: list[tuple[Any, ...]] = [
        *(("add", "demo", text) for text in ("one", "two")),
        ("add", "demo", [{"role": "assistant", "content": "Well."}]),
        ("add", "demo", [CALL]),
        ("add", "demo", [{"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "x"}]}]),
        *(("rewind", "demo"), ("mark", "demo"), ("undo", "demo"), ("redo", "demo"), ("clear", "demo")),
        ("add", "demo", [{"role": "system", "content": "Be long."}]),
    ]
    for command in chance.choices(commands, k=200 if THOROUGH else 30):
        await peer.ask(command)
        for name in FORMATS:
            living, head = await peer.call("render", "demo", name), (await peer.call("agent", "demo"))["head"]
            services.render_cache.pop((1, name) if chance.random() < 0.1 else (0, name))
            walked = await peer.call("clone", "demo", {"at": head})
            assert living["body"] == (await peer.call("render", walked["id"], name))["body"]


@pytest.mark.parametrize(
    ("more", "error", "about"),
    [
        ({"pin": "nowhere"}, NoSuchMark, "here"),
        ({"open": "refuse"}, Conflict, "c1"),
        ({"extra": {"messages": []}}, InvalidParams, "extra.messages"),
        ({"extra": "{"}, InvalidParams, "extra"),
        ({"extra": 7}, InvalidParams, "extra"),
        ({"budget": 1}, TooLarge, "budget"),
        ({"budget": 0}, InvalidParams, "budget"),
        ({"after": {"hash": "x"}}, InvalidParams, "after"),
        ({"after": {"messages": "1", "hash": "x"}}, InvalidParams, "after"),
        ({"open": "guess"}, InvalidParams, "open"),
    ],
)
async def test_parameters_that_render_refuses(
    connect: Connect, more: dict[str, Any], error: type[ReelError], about: str
) -> None:
    """Each error names the parameter or entry that it is about."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    await talk(peer)
    await peer.call("add", "demo", [CALL])
    with pytest.raises(error) as caught:
        await body(peer, **more)

    assert about in f"{caught.value.message} {caught.value.data}"


async def test_an_unknown_format(connect: Connect) -> None:
    """The error of an unknown format lists the formats."""
    peer = connect()
    await talk(peer)
    with pytest.raises(InvalidParams, match=", ".join([*FORMATS][:-1])):
        await peer.call("render", "demo", "cohere")


async def test_a_budget_leaves_what_is_pinned(connect: Connect) -> None:
    """The oldest turns are left out first, but not those before the pinned mark."""
    peer = connect()
    await talk(peer)
    for number in range(8):
        await peer.call("add", "demo", [{"role": "assistant", "content": "x" * 400}, f"{number} {'y' * 400}"])
    plain, pinned = [await body(peer, budget=500, **more) for more in ({}, {"pin": "here"})]

    assert "What?" not in json.dumps(plain)
    assert "What?" in json.dumps(pinned)
    assert all("7 yyy" in json.dumps(rendered) for rendered in (plain, pinned))


async def test_a_body_that_no_provider_takes(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that the provider would refuse is an error, with the remedy."""
    monkeypatch.setattr(render_handler, "MAX_BODY", 50)
    peer = connect()
    await talk(peer)
    with pytest.raises(TooLarge, match=r"give a budget"):
        await body(peer)


async def test_others_are_served_during_a_long_rendering(connect: Connect, services: Services) -> None:
    """A render shows the conversation at its request, and other requests are answered while its thread is busy."""
    over = threading.Event()
    slow, other = connect(), connect()
    await talk(slow)
    await body(slow)  # the first rendering loads modules, in another thread
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.long_work.in_thread, partial(over.wait, 20))
        try:
            await slow.send(slow.encoded(("render", "demo", "anthropic")))
            await wait_all_tasks_blocked()
            added = await other.call("add", "demo", "Meanwhile.")
            assert {"pong": True} == await other.call("ping")
        finally:
            over.set()
        rendered = await slow.answer(slow._sent)

    assert isinstance(rendered, dict)
    assert (7, 6) == (added["first"], rendered["at"])
    assert "Meanwhile" not in rendered["body"]


@pytest.mark.slow
async def test_render_of_what_is_not_in_memory(connect: Connect, services: Services) -> None:
    """A conversation of which only the end is in memory is rendered whole, now and at an earlier position."""
    peer = connect()
    for first in range(0, 2000, 500):
        await peer.call("add", "long", list(map(str, range(first, first + 500))), {"create": True})
    (agent,) = services.registry.live()
    whole = await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}})
    agent.shrink()
    held = len(agent.committed.conversation.entries)
    earlier = await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}, "at": 501})

    assert held < 1000
    assert 500 == len(json.loads(earlier["body"])["messages"])
    assert whole == await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}})
    assert 2000 == len(agent.committed.conversation.entries)
    assert agent.live.size == services.registry.residency.size


@pytest.mark.slow
async def test_render_of_what_has_no_room_in_memory(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that would be dropped from memory at once is rendered whole, and not put there."""
    peer = connect()
    for first in range(0, 2000, 500):
        await peer.call("add", "long", list(map(str, range(first, first + 500))), {"create": True})
    (agent,) = services.registry.live()
    whole = await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}})
    agent.shrink()
    held = len(agent.committed.conversation.entries)
    monkeypatch.setattr(services.registry.residency, "_memory", 100_000)

    assert whole == await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}})
    assert held == len(agent.committed.conversation.entries)


@pytest.mark.slow
async def test_a_budget_looks_at_the_newest_messages_alone(connect: Connect, services: Services) -> None:
    """Of a long conversation a few are read; the result does not depend on what is in memory, nor on what is kept."""
    peer = connect()
    said = [text for number in range(500) for text in (f"Q{number}", {"role": "assistant", "content": f"A{number}"})]
    for _ in range(4):
        await peer.call("add", "long", said, {"create": True})
    (agent,) = services.registry.live()
    how = {"extra": {"model": "m"}, "budget": 300}
    in_memory = await peer.call("render", "long", "openai-chat", how)
    agent.shrink()
    services.render_cache.forget({agent.row})
    read = await peer.call("render", "long", "openai-chat", how)
    held = len(agent.committed.conversation.entries)
    earlier = await peer.call("render", "long", "openai-chat", {**how, "at": 4001})
    again = await peer.call("render", "long", "openai-chat", how)
    sent = [message["content"] for message in json.loads(read["body"])["messages"]]
    (dropped,) = read["report"]

    assert in_memory == read == again == earlier
    assert held < 2000
    assert "A499" == sent[-1]
    assert f"Q{500 - len(sent) // 2}" == sent[0]
    assert 800 < len(read["body"]) <= 1200
    assert (2, "dropped") == (dropped["seq"], dropped["action"])
    assert f"{4000 - len(sent)} messages, before seq {4002 - len(sent)}" in dropped["why"]


@pytest.mark.slow
async def test_a_budget_that_has_room_for_more_than_the_newest_messages(connect: Connect) -> None:
    """If hardly anything of the newest messages is sent, more is read, until the budget is filled."""
    peer = connect()
    thought = {"type": "thinking", "text": "x" * 400}
    said = [
        text
        for _ in range(500)
        for text in ("Q", {"role": "assistant", "content": [thought, {"type": "text", "text": "A"}]})
    ]
    for _ in range(3):
        await peer.call("add", "long", said, {"create": True})
    whole = await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}})
    size = len(whole["body"]) // 4
    almost, fitting = [
        await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}, "budget": budget})
        for budget in (size * 3 // 4, size + 1)
    ]

    assert whole["body"] == fitting["body"]
    assert size * 4 // 2 < len(almost["body"]) <= size * 3


@pytest.mark.slow
async def test_open_calls_far_back_are_refused_with_a_budget(connect: Connect) -> None:
    """``open=refuse`` counts a call without a result that the budget leaves out."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    await peer.call("add", "long", ["Hi", CALL, "Never mind"], {"create": True})
    said = [text for _ in range(500) for text in ({"role": "assistant", "content": "x"}, "y")]
    for _ in range(3):
        await peer.call("add", "long", said)
    with pytest.raises(Conflict) as caught:
        await peer.call("render", "long", "openai-chat", {"extra": {"model": "m"}, "budget": 300, "open": "refuse"})

    assert [{"id": "c1", "name": "look", "seq": 3}] == caught.value.data["open_calls"]


async def test_cache_breakpoints_are_placed_if_requested(connect: Connect) -> None:
    """Without ``cache`` there are none (rule A15)."""
    peer = connect()
    await talk(peer)

    assert "cache_control" not in str(await body(peer))
    assert 2 == str(await body(peer, cache="1h")).count("cache_control")
    with pytest.raises(InvalidParams):
        await body(peer, cache="2h")


async def test_a_long_report(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest changes are listed; the others are counted."""
    peer = connect()
    calls = [{"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": "{}"} for number in range(9)]
    await peer.call("add", "demo", ["Hi", {"role": "assistant", "content": calls}, "Go on"], {"create": True})
    whole = await peer.call("render", "demo", "anthropic", {"extra": {"model": "m", "max_tokens": 9}})
    monkeypatch.setattr(render_handler, "MAX_REPORT", 3)
    short = await peer.call("render", "demo", "anthropic", {"extra": {"model": "m", "max_tokens": 9}})

    assert (whole["report"][-3:], len(whole["report"]) - 3) == (short["report"], short["omitted"])
    assert "omitted" not in whole
