"""The tool ``lost``, on a real daemon."""

from typing import Any

import pytest

from reel.sync.client import Client
from tests.reel.mcp.asking import Asker

pytestmark = pytest.mark.slow


def say(client: Client, name: str, *texts: str) -> list[int]:
    """Add messages, and return their seqs."""
    return [client.add(name, text, create=True).first for text in texts]


async def test_a_clear(client: Client, ask: Asker) -> None:
    """What a clear took out is read from its end backwards, page by page, each message once."""
    seqs = say(client, "cleared", *(f"message {number} {'x' * 400}" for number in range(20)))
    client.clear("cleared")
    say(client, "cleared", "afterwards")
    first = page = await ask("lost", conversation="cleared", budget=3000)
    read = page.seqs
    while given := page.call("Before it"):
        page = await ask("lost", budget=3000, **given)
        read = page.seqs + read

    assert seqs == read
    assert seqs[-1] == first.seqs[-1]
    assert "a clear at #22" in first.text
    assert "afterwards" in (await ask("read", **first.call("What followed"))).quoted


async def test_one_seam_after_the_other(client: Client, ask: Asker) -> None:
    """The last seam comes first, and each answer says how to read what an earlier one took out."""
    a, b, c = say(client, "seams", "a", "b", "c")
    client.restore("seams", a)
    d, e = say(client, "seams", "d", "e")
    client.clear("seams")
    last = await ask("lost", conversation="seams")
    before = await ask("lost", **last.call("What was taken out before that"))
    none = await ask("lost", **before.call("What was taken out before that"))

    assert [a, d, e] == last.seqs
    assert [b, c] == before.seqs
    assert "Nothing more was taken out" in none.text


async def test_a_compaction(client: Client, ask: Asker) -> None:
    """What a compaction kept beside its summary is not lost."""
    messages: list[Any] = [{"role": "user", "content": f"text {ref}", "ref": ref} for ref in ("r1", "r2", "r3")]
    client.add("compacted", messages, create=True)
    kept: Any = {"role": "user", "content": "text r3", "ref": "r3@s"}
    client.clear("compacted")
    summary: Any = {"role": "user", "content": "summary", "ref": "s"}
    client.add("compacted", [summary, kept])
    found = await ask("lost", conversation="compacted")

    assert [2, 3] == found.seqs


async def test_a_compaction_that_copies_the_end(client: Client, ask: Asker) -> None:
    """Copies without an id of their original are known as those of the last messages; an equal one before is lost."""
    texts = ["go on", "first", "go on", "last"]
    say(client, "compacting", *texts)
    client.clear("compacting")
    say(client, "compacting", "a summary", *texts[-2:])
    found = await ask("lost", conversation="compacting")

    assert [2, 3] == found.seqs


async def test_what_was_undone(client: Client, ask: Asker) -> None:
    """A clear that was undone took nothing out, and what an undo took out is lost."""
    say(client, "undone", "a", "b")
    client.clear("undone")
    client.undo("undone")
    kept = await ask("lost", conversation="undone")
    client.undo("undone")
    found = await ask("lost", conversation="undone")

    assert "Nothing was taken out of undone" in kept.text
    assert [3] == found.seqs
    assert "a return to an earlier state" in found.text


async def test_a_cursor_of_read(client: Client, ask: Asker) -> None:
    """A cursor of another tool is an error that says what to do."""
    say(client, "other", "a")
    found = await ask("lost", conversation="other", cursor="after-2")

    assert found.is_error
    assert "call lost without a cursor" in found.text


@pytest.mark.parametrize(
    ("cursor", "why"),
    [
        ("before-99999-at99999", "misled has no #99999, its newest is #4"),
        ("before-99999-at3", "misled had no #99999 as of #3"),
        ("before-5-at3", "misled had no #5 as of #3"),
        ("before-6-at4", "misled has no #6, its newest is #4"),
        ("before-0-at3", "misled begins with #1, so there is no #0"),
    ],
)
async def test_a_cursor_that_no_answer_named(client: Client, ask: Asker, cursor: str, why: str) -> None:
    """A place that is not there is an error that says what to do, also if nothing was taken out."""
    if not client.agents(prefix="misled").agents:
        say(client, "misled", "a", "b")
        client.clear("misled")
    found = await ask("lost", conversation="misled", cursor=cursor)
    last = await ask("lost", conversation="misled", cursor="before-5-at4")

    assert found.is_error
    assert f"{why}; call lost without a cursor" in found.text
    assert [2, 3] == last.seqs


@pytest.mark.parametrize("budget", [2000, 16_000])
async def test_no_answer_is_longer_than_its_budget(client: Client, ask: Asker, budget: int) -> None:
    """Each answer keeps to its budget."""
    name = "l" * 128
    if not client.agents(prefix=name).agents:
        say(client, name, *("ö" * 3000 for _ in range(8)))
        client.clear(name)
    page = await ask("lost", conversation=name, budget=budget)
    sizes = [len(page.text.encode())]
    while given := page.call("Before it"):
        page = await ask("lost", budget=budget, **given)
        sizes.append(len(page.text.encode()))

    assert max(sizes) <= budget
