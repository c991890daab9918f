"""Pages of lines, and the last answer."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidParams
from reeld.serving import answers
from reeld.serving.call import Services
from tests.reeld.serving.conftest import Connect, Peer
from tests.reeld.serving.line_buffer import State, laid_out

CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
THINKING = {"type": "thinking", "text": "hm"}


def said(*content: Any) -> dict[str, Any]:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": [{"type": "text", "text": x} if isinstance(x, str) else x for x in content]}


async def read(peer: Peer, **asked: Any) -> State:
    """Return all pages of the lines of an agent as one buffer."""
    buffer: State = ([], [], [], [])
    since = 0
    while True:
        page = await peer.call("messages", {"agent": "demo", "view": "lines", "since": since, **asked})
        row = len(buffer[0])
        buffer[0].extend(page["lines"])
        buffer[1].extend([row + first, row + last] for first, last in page["folds"])
        buffer[2].extend([row + first, *rest] for first, *rest in page["headings"])
        buffer[3].extend([row + first, text] for first, text in page["marks"])
        if not page["more"]:
            return buffer
        since = page["headings"][-1][2]


async def test_pages_make_the_conversation(connect: Connect) -> None:
    """The pages of lines are the conversation, now and at an earlier seq, with the prompt on the first one."""
    peer = connect()
    await peer.ask(("create", "demo", "be brief"), ("add", "demo", ["one", said(THINKING, "two\nlines"), "x" * 70_000]))
    now = await peer.call("messages", {"agent": "demo"})
    await peer.ask(("clear", "demo"), ("add", "demo", "later"))
    later = await peer.call("messages", {"agent": "demo"})

    assert laid_out("be brief", now["messages"], []) == await read(peer, at=5, limit=1)
    assert laid_out("be brief", later["messages"], []) == await read(peer, max_bytes=1)
    assert 1 == len((await read(peer, at=5))[3])


async def test_the_last_lines(connect: Connect) -> None:
    """The newest messages alone have no prompt."""
    peer = connect()
    await peer.ask(("create", "demo", "be brief"), ("add", "demo", ["one", "two"]))
    page = await peer.call("messages", {"agent": "demo", "view": "lines", "last": 1})

    assert ["## user #4", "", "two", ""] == page["lines"]
    assert ("be brief", 4, 4, False) == (page["system"], page["head"], page["at"], page["more"])


async def test_items_are_no_lines(connect: Connect) -> None:
    """A provider's items have no lines."""
    peer = connect()
    await peer.ask(("create", "demo"))

    with pytest.raises(InvalidParams):
        await peer.call("messages", {"agent": "demo", "view": "lines", "format": "anthropic"})


@pytest.mark.parametrize(
    ("messages", "answer", "code"),
    [
        ([], (None, None, None), (None, None, None)),
        (["```\nmine\n```"], (None, None, None), (None, None, None)),
        ([said("a", "b"), said(CALL), "hi"], (2, "a\n\nb", None), (None, None, None)),
        ([said("```py\n1\n```\n~~~\n2\n~~~", "x"), said("no")], (3, "no", None), (2, "2", "")),
        ([said("```py x\n1\n\n", "b"), said("")], (2, "```py x\n1\n\n\n\nb", None), (2, "1\n\n", "py")),
    ],
)
async def test_the_last_answer(connect: Connect, messages: list[Any], answer: Any, code: Any) -> None:
    """The last answer is the newest message of the assistant with a text; its code is in its last fence."""
    peer = connect()
    await peer.ask(("create", "demo"), *([("add", "demo", messages)] if messages else []))
    head = 1 + len(messages)

    for asked, (seq, text, language) in ((False, answer), (True, code)):
        found = await peer.call("answer", {"agent": "demo", "code": asked})
        assert (seq, text, language, head) == (found["seq"], found["text"], found["language"], found["head"])


async def test_an_answer_that_is_not_in_memory(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are looked for in the whole conversation, a few at first."""
    monkeypatch.setattr(answers, "_FEW", 1)
    monkeypatch.setattr(answers, "_MORE", 2)
    peer = connect()
    await peer.ask(("create", "demo"), ("add", "demo", [said("```\ncode\n```")]))
    for _ in range(3):
        await peer.ask(("add", "demo", ["x", said("y")] * 350))
    for agent in services.registry.live():
        agent.committed.conversation.trim(10)

    assert "code" == (await peer.call("answer", {"agent": "demo", "code": True}))["text"]


async def test_facts_in_lines(connect: Connect) -> None:
    """The facts of a clone name where it comes from, also if that was killed and has another name."""
    peer = connect()
    await peer.ask(("create", "demo"), ("add", "demo", ["one"]), ("clone", "demo", "copy"))
    await peer.ask(("change", {"agent": "demo", "name": "first"}), ("kill", "first"))
    shown = await peer.call("facts", {"agent": "copy"})

    assert ("copy", True) == (shown["name"], "cloned from  first at #2" in shown["lines"])
    assert (await peer.call("agent", {"agent": "copy"}))["id"] == shown["agent"]


async def test_what_an_answer_took_is_counted(connect: Connect) -> None:
    """An answer that a framework has stored with its tokens counts; one that is stored again does not."""
    peer = connect()
    usage = {"usage_metadata": {"input_tokens": 90_000, "output_tokens": 10_000}, "model_name": "gpt-5"}
    item = json.dumps([{"content": "Yes.", **usage}])
    said = [[{"role": "assistant", "content": "Yes."}]]
    added = {"agent": "demo", "items": item, "format": "x-langgraph", "messages": said}
    await peer.ask(("create", "demo"), ("add", "demo", ["one"]), ("add", added))
    shown = await peer.call("facts", {"agent": "demo"})
    assert "context      100,000 tokens, 25 % of 400,000 (gpt-5)" in shown["lines"]

    await peer.ask(("add", {**added, "from": 2}))
    shown = await peer.call("facts", {"agent": "demo"})
    assert "context      about 5 tokens, estimated" in shown["lines"]


@pytest.mark.parametrize("trims", [False, True])
async def test_facts_of_the_context(connect: Connect, services: Services, *, trims: bool) -> None:
    """They say how full the context is: what was counted last, and about what came since, in memory or not."""
    peer = connect()
    usage = json.dumps({"model": "gpt-5", "usage": {"prompt_tokens": 90_000, "completion_tokens": 10_000}})
    await peer.ask(("create", "demo"), ("add", "demo", ["one", {"kind": "usage", "data_json": usage}]))
    await peer.ask(("add", "demo", ["x" * 384] * 30))
    for agent in services.registry.live() if trims else ():
        agent.committed.conversation.trim(2)
    shown = await peer.call("facts", {"agent": "demo"})

    assert "context      about 103,000 tokens, 3,000 of them estimated, 26 % of 400,000 (gpt-5)" in shown["lines"]
