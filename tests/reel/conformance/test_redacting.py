"""Both clients redact what matches a pattern, and more than one request takes, in the same way."""

import re
from pathlib import Path
from typing import Any

import pytest

import reel
from reel.requests import redaction
from tests.reel.both_clients import Run


async def all_of(client: Any, *agents: str) -> str:
    """Return everything that agents have, as one text."""
    logs = [[event async for event in client.iter_history(agent, inherited=True)] for agent in agents]
    return str(logs) + str([await client.agent(agent) for agent in agents])


def test_both_clients_redact_what_matches(run: Run) -> None:
    """What matches is redacted in one request, wherever it is in the past, and the reply lists it."""

    async def scenario(client: Any) -> Any:
        made = await client.create(title="key-1", tags={"t": "key-2"})
        call = reel.tool_call("c", "ls", '{"path": "\\u006bey-3"}')
        await client.add(made.name, ["a key-22 and key-1", call, {"kind": "note", "content": "x", "ref": "key-4"}])
        await client.mark(made.name, "key-5")
        tried = await client.redact(made.name, pattern=r"key-\d+", dry_run=True)
        done = await client.redact(made.name, pattern=re.compile(r"key-\d+"), if_seq=tried.head)
        again = await client.redact(made.name, pattern=r"key-\d+")
        return sorted(tried.texts), done.texts == tried.texts, done.redacted, again, await all_of(client, made.name)

    texts, same, redacted, again, left = run(scenario)
    assert ["key-1", "key-2", "key-22", "key-3", "key-4", "key-5"] == texts
    assert (True, 5, 0, []) == (same, redacted, again.redacted, again.texts)
    assert "key-" not in left


def test_both_clients_look_into_what_was_taken_over(run: Run) -> None:
    """What a clone into the agent brought matches also if it was cleared since, as do its marks."""

    async def scenario(client: Any) -> Any:
        source, taker, heir = [(await client.create()).name for _ in range(3)]
        await client.add(source, "key-1")
        await client.mark(source, "key-2")
        await client.clone(source, into=taker)
        await client.clear(taker)
        await client.clone(taker, into=heir)
        await client.clone(taker, f"{taker}-clone")
        done = await client.redact(f"{taker}-clone", pattern=r"key-\d")
        return sorted(done.texts), await all_of(client, source)

    texts, left = run(scenario)
    assert ["key-1", "key-2"] == texts
    assert "key-" not in left


def test_both_clients_redact_more_than_one_request_takes(run: Run) -> None:
    """Many texts go in parts, the longest first, so that none is cut by another; the reply is about all of them."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        await client.add(made.name, [f"key-{number} " for number in range(redaction.MAX_TEXTS + 20)])
        tried = await client.redact(made.name, pattern=r"key-\d+", dry_run=True)
        head = (await client.agent(made.name)).head
        done = await client.redact(made.name, text=list(tried.texts), if_seq=head)
        return done, head, {row["content"] async for row in client.iter_conversation(made.name)}

    done, head, left = run(scenario)
    assert redaction.MAX_TEXTS + 20 == done.redacted
    assert (1000, head + 2) == (len(done.events), done.head)
    assert {"[redacted"} == {text[:9] for text in left}
    assert {"] "} == {text[-2:] for text in left}


def test_both_clients_refuse_before_anything_changes(run: Run, tmp_path: Path) -> None:
    """What cannot be carried out as a whole is refused, and nothing was redacted."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        await client.add(name, "one two")
        many = [str(number) for number in range(redaction.MAX_TEXTS + 1)]
        refusals: list[tuple[dict[str, Any], type[reel.ReelError], str]] = [
            ({"pattern": "("}, reel.InvalidParams, "'\\(' is not a regular expression: missing"),
            ({"pattern": "x", "text": "y"}, reel.InvalidParams, "pattern, text and seqs: give one of them"),
            ({"pattern": "one", "key": "k"}, reel.InvalidParams, "key: .* repeat it without a key"),
            ({"text": many, "key": "k"}, reel.InvalidParams, "key: .* repeat it without a key"),
            ({"pattern": "one", "if_seq": 1}, reel.Conflict, "is at #2, not at #1"),
            ({"pattern": "three", "backups": [str(tmp_path / "b.db")]}, reel.InvalidParams, "name the text"),
            ({"text": [*many, "x" * (17 << 20)]}, reel.TooLarge, "a text of 17825792 bytes .* by its seq"),
        ]
        for how, error, says in refusals:
            with pytest.raises(error, match=says):
                await client.redact(name, **how)
        return [row["content"] async for row in client.iter_conversation(name)]

    assert ["one two"] == run(scenario)
