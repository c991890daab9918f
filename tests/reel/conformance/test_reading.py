"""Both clients read the same, whatever they ask for."""

import json
from pathlib import Path
from typing import Any

import reel
from reel.replies import Verified
from tests.reel.both_clients import Run


def test_both_clients_read_a_conversation(run: Run) -> None:
    """Clients can read messages, records with the prompt, and events."""

    async def scenario(client: Any) -> Any:
        made = await client.create(system="be brief")
        await client.add(made.name, ["one", "two"])
        listed = await client.agents(prefix=made.name)
        detailed = await client.agents(prefix=made.name, order="updated", details=True)
        return {
            "agents": [row.id for row in listed.agents] == [made.id],
            "details": [(row.messages, row.first_words, row.turn, row.drafts) for row in detailed.agents],
            "messages": len((await client.messages(made.name)).messages),
            "records": len((await client.conversation(made.name)).conversation),
            "events": len((await client.history(made.name)).events),
        }

    details: list[Any] = [(2, "one", "assistant", [])]
    assert {"agents": True, "details": details, "messages": 2, "records": 3, "events": 4} == run(scenario)


def test_both_clients_list_values(run: Run) -> None:
    """A list has the newest values of each agent, as `state` reads them, also those that are deep in JSON."""
    deep: Any = 1
    for _ in range(30):
        deep = [deep]

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        await client.add(name, [reel.state("a", 1), reel.state("b", deep), reel.state("a", 2)])
        (row,) = (await client.agents(prefix=name, state=True)).agents
        (plain,) = (await client.agents(prefix=name)).agents
        return row.values == (await client.state(name)).values, [v.value for v in row.values], row.next, plain.values

    assert (True, [2, deep], None, None) == run(scenario)


def test_both_clients_replay_and_verify(run: Run) -> None:
    """The state read from the log matches, and there is no damage."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        await client.add(name, "hi")
        replayed = await client.replay(name)
        return replayed.matched, await client.verify(name), (await client.verify()).problems

    assert (True, Verified(1, 2, [], 0), []) == run(scenario)


def test_both_clients_ask_about_the_daemon(run: Run, tmp_path: Path) -> None:
    """The daemon answers, lists its methods, counts its agents and copies its database."""

    async def scenario(client: Any) -> Any:
        await client.create()
        copy = await client.backup(f"{tmp_path}/copy.db")
        return (
            await client.ping(),
            (await client.methods())[0].name,
            (await client.stats())["agents"] > 0,
            copy.path == f"{tmp_path}/copy.db",
        )

    assert (True, "hello", True, True) == run(scenario)


def test_both_clients_speak_the_formats_of_providers(run: Run) -> None:
    """A history is loaded, rendered, answered, and rendered for another provider."""
    request = {"messages": [{"role": "user", "content": "What?"}], "temperature": 0}
    answer = {"content": [{"type": "text", "text": "That."}], "stop_reason": "end_turn", "usage": {"output_tokens": 2}}

    async def scenario(client: Any) -> list[Any]:
        name = (await client.create()).name
        loaded = await client.load(name, "openai-chat", json.dumps(request))
        first = await client.render(name, "anthropic", extra={"model": "claude-opus-5", "max_tokens": 9})
        added = await client.ingest(name, "anthropic", json.dumps(answer), if_seq=loaded.head)
        await client.add(name, "Why?")
        second = await client.render(name, "anthropic", extra='{"max_tokens": 9}', after=first.prefix)
        third = await client.render(name, "gemini")
        return [
            (loaded.first, [change.action for change in loaded.report], added.first, added.head),
            (first.ready, [message["role"] for message in json.loads(first.body)["messages"]]),
            (second.extends, [message["role"] for message in json.loads(second.body)["messages"]]),
            [content["role"] for content in json.loads(third.body)["contents"]],
        ]

    assert [
        (2, ["dropped"], 3, 4),
        (True, ["user"]),
        (True, ["user", "assistant", "user"]),
        ["user", "model", "user"],
    ] == run(scenario)


def test_both_clients_read_every_page(run: Run) -> None:
    """The iterators return everything, over several pages."""

    async def scenario(client: Any) -> list[int]:
        made = await client.create()
        for _ in range(3):
            await client.add(made.id, ["x"] * 1000)
        return [
            len([1 async for _ in client.iter_messages(made.id)]),
            len([1 async for _ in client.iter_conversation(made.id)]),
            len([1 async for _ in client.iter_history(made.id)]),
            len([1 async for row in client.iter_agents() if row.id == made.id]),
        ]

    assert [3000, 3000, 3001, 1] == run(scenario)


def test_both_clients_add_and_read_items(run: Run) -> None:
    """Items of a provider come back as they were, page by page, with a ref of their own."""
    items = [{"role": "user", "content": f"item {number} \ud800", "id": number} for number in range(3)]

    async def scenario(client: Any) -> Any:
        made = await client.create()
        added = await client.add_items(made.id, items, "openai-chat", refs=["a", None, None], sent=[1, None, None])
        again = await client.add_items(made.id, items[:1], "openai-chat", refs=["a"])
        page = await client.items(made.id, "openai-chat", last=2)
        return (
            [item["item"] async for item in client.iter_items(made.id, "openai-chat")] == items,
            [item["seq"] for item in page.items] == added.seqs[1:],
            (again.command, again.seqs == added.seqs[:1], [known.index for known in again.known]),
        )

    assert (True, True, (0, True, [0])) == run(scenario)
