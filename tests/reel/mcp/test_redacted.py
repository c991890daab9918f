"""What was redacted is in no answer, by whatever door it is asked for, on a real daemon."""

import re
from typing import Any

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed
from tests.reel.mcp.asking import Asker, Said, asker

pytestmark = pytest.mark.slow
WORD = "zanzibarquux"
NAMES = ("told", "told-cleared")


@pytest.fixture
def told(client: Client) -> None:
    """A conversation that has a word in everything that can have one, and one in which it was cleared."""
    call: Any = {"type": "tool_call", "id": "c1", "name": "grep", "arguments": f'{{"pattern": "{WORD}"}}'}
    result: Any = {"type": "tool_result", "tool_call_id": "c1", "content": f"a result of {WORD}", "is_error": False}
    thinking: Any = {"type": "thinking", "text": f"a thought of {WORD}"}
    client.create("told", tags={"cwd": "/told"})
    client.add("told", f"{WORD} says hello")
    client.add("told", {"role": "assistant", "content": [thinking, {"type": "text", "text": f"{WORD} here"}, call]})
    client.add("told", {"role": "tool", "content": [result]})
    client.add("told", {"kind": "note", "content": f"a note of {WORD}"})
    client.add("told", "plain words")
    client.clone("told", "told-cleared")
    client.change("told-cleared", tags={"cwd": "/told"})
    client.clear("told-cleared")
    client.add("told-cleared", "after it")
    until_indexed(client)


async def answers(ask: Asker) -> dict[str, str]:
    """Return what was said in the past, in each answer, by what was asked."""
    found: dict[str, Any] = {}
    for thinking in (False, True):
        for query in (WORD, "hello OR here OR result OR note OR plain"):
            found[f"search {query} {thinking}"] = await ask("search", query=query, thinking=thinking)
        for name in NAMES:
            found[f"read {name} {thinking}"] = await ask("read", conversation=name, thinking=thinking)
        for seq in range(1, 9):
            found[f"read {seq} {thinking}"] = await ask("read", conversation="told", seq=seq, thinking=thinking)
    for name in NAMES:
        found[f"lost {name}"] = await ask("lost", conversation=name)
        found[f"resource {name}"] = await ask.handle("resources/read", uri=f"reel://conversation/{name}")
    found["conversations"] = await ask("conversations")
    found[f"conversations {WORD}"] = await ask("conversations", query=WORD)
    found["resources"] = await ask.handle("resources/list")
    for topic in ("hello", WORD):
        found[f"prompt {topic}"] = await ask.handle("prompts/get", name="recall", arguments={"topic": topic})
    return {asked: _quoted(answer) for asked, answer in found.items()}


def _quoted(answer: Any) -> str:
    """Return what is between the fences of an answer, without the caller's own words; all of one without fences."""
    if isinstance(answer, Said):
        return answer.quoted
    texts = [part["text"] for part in answer.get("contents", [])]
    texts += [part["content"]["text"] for part in answer.get("messages", [])]
    return "\n".join(re.findall(r"begins\n(.*?)\n---", "\n".join(texts), re.DOTALL)) if texts else str(answer)


@pytest.mark.usefixtures("told")
async def test_what_was_redacted(client: Client, daemon: Daemon) -> None:
    """A server that has shown the word shows it no more once it is redacted, nor does one that begins then."""
    async with asker(daemon, "/told") as ask:
        before = await answers(ask)
        client.redact("told", text=WORD)
        until_indexed(client)
        after = await answers(ask)
    async with asker(daemon, "/told") as ask:
        later = await answers(ask)

    doors = {asked.split()[0] for asked, said in before.items() if WORD in said}
    assert {"search", "read", "lost", "resource", "resources", "conversations", "prompt"} == doors
    assert [] == [asked for asked, said in {**after, **later}.items() if WORD in said]
    assert any("redacted" in said for said in after.values())
