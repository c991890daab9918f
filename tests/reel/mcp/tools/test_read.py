"""The tool ``read``, on a real daemon."""

from typing import Any

import pytest

import reel
from reel.sync.client import Client
from tests.reel.mcp.asking import Asker

pytestmark = pytest.mark.slow


def talk(client: Client, name: str, messages: int = 12, length: int = 10, **details: Any) -> list[int]:
    """Make a conversation, and return the seqs of its messages."""
    client.create(name, **details)
    for number in range(messages):
        said: Any = {"role": "assistant" if number % 2 else "user", "content": f"{name} says {number} {'x' * length}"}
        client.add(name, said)
    return [message["seq"] for message in client.messages(name).messages]


async def test_the_newest(client: Client, ask: Asker) -> None:
    """Without a place, the end of the conversation is read, and what is said later has a cursor."""
    seqs = talk(client, "newest")
    found = await ask("read", conversation="newest")
    client.add("newest", "later")
    later = await ask("read", **found.call("What is said later"))

    assert seqs == found.seqs
    assert "newest says 11" in found.quoted
    assert "\nlater" in later.quoted
    assert 1 == len(later.seqs)


async def test_page_after_page(client: Client, ask: Asker) -> None:
    """From page to page, each message is read once, backwards as forwards, although others write."""
    seqs = talk(client, "pages", 40, 300)
    read: list[int] = []
    given: dict[str, Any] = {"conversation": "pages"}
    while given:
        page = await ask("read", budget=3000, **given)
        read = page.seqs + read
        client.add("pages", "meanwhile")
        given = page.call("Before it")
    forth: list[int] = []
    given = {"conversation": "pages", "cursor": f"after-0-at{seqs[-1]}"}
    while given:
        page = await ask("read", budget=3000, **given)
        forth += page.seqs
        given = page.call("After it")

    assert seqs == read
    assert seqs == forth


async def test_around_a_message(client: Client, ask: Asker) -> None:
    """A message is read with what came before and after it."""
    seqs = talk(client, "around", 30, 100)
    found = await ask("read", conversation="around", seq=seqs[15], budget=3000)

    assert seqs[15] in found.seqs
    assert found.seqs[0] < seqs[15] < found.seqs[-1]
    assert found.call("Before it")
    assert found.call("After it")


async def test_what_is_no_longer_in_the_conversation(client: Client, ask: Asker) -> None:
    """A message that was taken out is read where it stood, with what followed it there."""
    seqs = talk(client, "gone", 6)
    client.restore("gone", seqs[1])
    client.add("gone", "another way")
    found = await ask("read", conversation="gone", seq=seqs[3])

    assert seqs == found.seqs
    assert "no longer a part of it" in found.text
    assert "another way" not in found.quoted


async def test_a_cursor_into_another_state(client: Client, ask: Asker) -> None:
    """A message that was not there in the state of a cursor is an error that says where it is."""
    first, second = talk(client, "states", 2)
    client.restore("states", first)
    third = client.add("states", "another way").first
    at_third = await ask("read", conversation="states", cursor=f"in-{second}-at{third}")
    end = await ask("read", conversation="states", cursor=f"before-{third + 1}")

    assert at_third.is_error
    assert f"#{second} was not in states as of #{third}; read it with seq {second}" in at_third.text
    assert [first, third] == end.seqs


async def test_a_prompt_and_a_note(client: Client, ask: Asker) -> None:
    """What a search finds besides messages can be read as well."""
    talk(client, "prompted", 2, system="Be brief.")
    note = client.add("prompted", [{"kind": "note", "content": "Remember the milk."}]).first
    prompt = client.history("prompted", kinds=["system"]).events[0]["seq"]

    assert "Be brief." in (await ask("read", conversation="prompted", seq=prompt)).quoted
    assert "Remember the milk." in (await ask("read", conversation="prompted", seq=note)).quoted


async def test_a_long_result(client: Client, ask: Asker) -> None:
    """A long result is shortened in the middle, and the cursor in its place reads the rest of it."""
    client.create("long")
    call: Any = {"type": "tool_call", "id": "c", "name": "cat", "arguments": "{}"}
    client.add("long", [{"role": "assistant", "content": [call]}])
    lines = "\n".join(f"line {number}" for number in range(20_000))
    client.add("long", reel.tool_result("c", lines))
    found = await ask("read", conversation="long")
    cursor = found.quoted.partition("with cursor ")[2].partition("]")[0]
    rest = await ask("read", conversation="long", cursor=cursor, budget=20_000)
    shown = found.quoted.partition("[result of cat]\n")[2].partition("\n[")[0]

    assert lines.startswith(shown + rest.quoted)
    assert "line 19999" in found.quoted
    assert rest.call("It goes on")


async def test_thinking(client: Client, ask: Asker) -> None:
    """Thinking is shown on request, on that page and on those that follow it; a signature never."""
    client.create("thoughts")
    for number in range(6):
        block: Any = {"type": "thinking", "text": f"hm {number} " + "y" * 800, "signature": "SIGNED"}
        text: Any = {"type": "text", "text": "so"}
        client.add("thoughts", [{"role": "assistant", "content": [block, text]}])
    plain = await ask("read", conversation="thoughts")
    page = await ask("read", conversation="thoughts", thinking=True, budget=2500)
    before = await ask("read", budget=2500, **page.call("Before it"))

    assert "hm" not in plain.text
    assert "hm 5" in page.quoted
    assert "hm" in before.quoted
    assert "SIGNED" not in plain.text + page.text + before.text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"conversation": "nobody"}, "call conversations, or search"),
        ({}, "name a conversation"),
        ({"conversation": "wrong", "seq": 9999}, "its newest is #3"),
        ({"conversation": "wrong", "seq": 1}, "#1 of wrong is not a message but an event of the kind created"),
        ({"conversation": "wrong", "seq": "x"}, "seq of read is a number"),
        ({"conversation": "wrong", "seq": True}, "seq of read is a number"),
        ({"conversation": "wrong", "cursor": "junk"}, "'junk' is no cursor of read"),
        ({"conversation": "wrong", "cursor": "before-2-at99"}, "has no #99"),
        ({"conversation": "wrong", "cursor": "in-99"}, "has no #99, its newest is #"),
        ({"conversation": "wrong", "cursor": "after-99999"}, "has no #99999, its newest is #"),
        ({"conversation": "wrong", "cursor": "before-0"}, "or with after-0 for its beginning"),
        ({"conversation": "wrong", "cursor": "before-99999"}, "has no #99999, its newest is #3; read it without"),
        ({"conversation": "wrong", "cursor": "before-4-at2"}, "wrong had no #4 as of #2; read it without"),
        ({"conversation": "wrong", "cursor": "after-3-at2"}, "wrong had no #3 as of #2"),
        ({"conversation": "wrong", "cursor": "in-3-at2"}, "wrong had no #3 as of #2"),
        ({"conversation": "wrong", "cursor": "in-0"}, "begins with #1, so there is no #0"),
        ({"conversation": "wrong", "cursor": "in-1"}, "#1 of wrong is not a message"),
        ({"conversation": "wrong", "cursor": "in-2+99999"}, "shorter than that cursor says"),
        ({"conversation": "wrong", "budget": 5}, "from 2,000 to 100,000"),
        ({"conversation": "wrong", "cursr": "x"}, "did you mean cursor?"),
        ({"conversation": "wrong", "thinking": "perhaps"}, "true or false"),
    ],
)
async def test_bad_input(client: Client, ask: Asker, given: dict[str, Any], why: str) -> None:
    """A mistake is an error of the tool in one sentence, which says what to call instead."""
    if not client.agents(prefix="wrong").agents:
        talk(client, "wrong", 2)
    found = await ask("read", **given)

    assert found.is_error
    assert why in found.text
    assert "\n" not in found.text


@pytest.mark.parametrize("budget", [2000, 4096, 100_000])
async def test_no_answer_is_longer_than_its_budget(client: Client, ask: Asker, budget: int) -> None:
    """Whatever was said, each answer of each page keeps to its budget, in bytes of UTF-8."""
    name = "n" * 128
    if not client.agents(prefix=name).agents:
        talk(client, name, 12, 3000)
        client.add(name, "\N{GRINNING FACE}" * 30_000)
        client.add(name, "z" * 150_000)
        client.add(name, "\x00\x1b\u202e" * 5000)
    given: dict[str, Any] = {"conversation": name}
    sizes = []
    for _ in range(5):
        page = await ask("read", budget=budget, **given)
        sizes.append(len(page.text.encode()))
        given = page.call("Before it")
        if not given:
            break
    found = [await ask("read", conversation=name, seq=seq, budget=budget) for seq in (2, 13, 14, 15, 16)]
    sizes += [len(each.text.encode()) for each in found]
    inside = await ask("read", conversation=name, cursor="in-15", budget=budget)

    assert all(size <= budget for size in sizes)
    assert budget - 300 <= len(inside.text.encode()) <= budget
