"""Both clients change agents in the same way."""

from typing import Any

import pytest

import reel
from reel import requests
from tests.reel.both_clients import Run


def test_both_clients_create_an_agent(run: Run) -> None:
    """A new agent has its prompt and its tags."""

    async def scenario(client: Any) -> Any:
        made = await client.create(system="be brief", tags={"a": "b"})
        return made.head, made.system, made.tags

    assert (2, "be brief", {"a": "b"}) == run(scenario)


def test_both_clients_measure_a_message_that_is_too_large(run: Run) -> None:
    """A message over the limit is refused with its size, and the client goes on."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        with pytest.raises(reel.TooLarge, match="may have 16777216 bytes, this one has 17825"):
            await client.add(made.name, "x" * (17 << 20))
        return (await client.agent(made.name)).messages

    assert 0 == run(scenario)


def test_both_clients_add_messages(run: Run) -> None:
    """The reply to added messages has the head and the open calls."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        added = await client.add(made.name, ["hi", reel.tool_call("c", "ls", "{}")])
        return added.first, added.head, [call.name for call in added.open_calls]

    assert (2, 3, ["ls"]) == run(scenario)


def test_both_clients_write_to_several_agents_at_once(run: Run) -> None:
    """Parts are calls or maps; the reply has a result for each, and a refusal the number of the part."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        parts = [
            requests.add(name, ["hi"]),
            requests.add_items(f"{name}-b", [{"role": "user", "content": "x"}], "openai-chat", create=True),
            {"method": "create"},
        ]
        done = await client.commit(iter(parts))
        with pytest.raises(reel.NotFound, match=r"parts\[1\]: no agent nobody") as refused:
            await client.commit([requests.add(name, "x"), requests.add("nobody", "x")])
        with pytest.raises(reel.InvalidParams, match="parts: expected a list of calls"):
            await client.commit("x")
        made = done.results[2].name is not None
        return [result.first for result in done.results], done.results[1].seqs, made, refused.value.data["part"]

    assert ([2, 2, 0], [2], True, 1) == run(scenario)


def test_both_clients_keep_values(run: Run) -> None:
    """A value of any depth comes back as it was, page by page; a number of any size as well."""
    deep: Any = 2**70
    for _ in range(30):
        deep = [deep]

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        values = [reel.state("b", {"x": (1.0, None)}), reel.state("a", deep), reel.state("c", 1), reel.no_state("c")]
        head = (await client.add(name, ["hi", *values], if_seq=1)).head
        with pytest.raises(reel.Conflict, match="was set at #3"):
            await client.add(name, [reel.state("b", 0, if_seq=2)])
        first = await client.state(name, limit=1)
        second = await client.call(requests.state(name, after=first.next))
        earlier = await client.state(name, ["b"], at=1)
        found = [(value.key, value.value, value.seq) for value in [*first.values, *second.values]]
        return found, first.more, second.more, earlier.values, head

    assert ([("a", deep, 4), ("b", {"x": [1.0, None]}, 3)], True, False, [], 6) == run(scenario)


def test_both_clients_rewind_to_a_mark(run: Run) -> None:
    """Rewinding to a label drops what was added after the mark."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        marked = await client.mark(name, "here")
        await client.add(name, ["one", "two"])
        rewound = await client.rewind(name, "here")
        return marked.label, marked.seq == rewound.target, rewound.dropped

    assert ("here", True, 2) == run(scenario)


def test_both_clients_undo_and_redo(run: Run) -> None:
    """The same command is undone and redone."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        added = await client.add(name, "hi")
        undone, redone = await client.undo(name), await client.redo(name)
        return undone.undone == added.command, redone.redone == added.command

    assert (True, True) == run(scenario)


def test_both_clients_clear_and_restore(run: Run) -> None:
    """A cleared conversation can be restored to the head that it had."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        added = await client.add(name, ["one", "two"])
        cleared = await client.clear(name)
        await client.restore(name, cleared.was)
        return cleared.was == added.head, (await client.agent(name)).messages

    assert (True, 2) == run(scenario)


def test_both_clients_clone(run: Run) -> None:
    """A clone has the source and the messages of the original."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        added = await client.add(made.name, "hi")
        twin = await client.clone(made.name)
        old = await client.clone(made.name, sent=5)
        return twin.source == (made.id, added.head), twin.messages, old.updated

    assert (True, 1, 5) == run(scenario)


def test_both_clients_change_a_title(run: Run) -> None:
    """A title can be changed."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        return (await client.change(name, title="A title")).title

    assert "A title" == run(scenario)


def test_both_clients_kill_and_revive(run: Run) -> None:
    """A killed agent is named in the reply, and alive after it was revived."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        killed = await client.kill(made.name)
        return killed.killed == [made.id], (await client.revive(made.name)).alive

    assert (True, True) == run(scenario)


def test_both_clients_add_a_single_message(run: Run) -> None:
    """A single message counts as a list of one."""

    async def scenario(client: Any) -> list[Any]:
        name = (await client.create()).name
        await client.add(name, {"role": "assistant", "content": "hi"})
        page = await client.messages(name)
        await client.add(name, page.messages[0])
        return [(message["role"], message["content"][0]["text"]) for message in (await client.messages(name)).messages]

    assert [("assistant", "hi")] * 2 == run(scenario)


def test_both_clients_report_a_key_of_another_agent(run: Run) -> None:
    """A key belongs to a command of one agent: a retry gets the reply, the same key for another agent is a conflict."""

    async def scenario(client: Any) -> list[Any]:
        one, other = await client.create(), await client.create()
        first = await client.add(one.name, "hi", key=one.id)
        again = await client.add(one.id, "hi", key=one.id)
        with pytest.raises(reel.Conflict, match=f"was used for the agent {one.name}; ") as refused:
            await client.add(other.name, "hi", key=one.id)
        cloned = await client.clone(one.name, key=other.id)
        with pytest.raises(reel.Conflict, match=f"was used for the agent {one.name}; "):
            await client.clone(other.name, key=other.id)
        return [
            (first.head, again.head, first.repeated, again.repeated),
            refused.value.data["agent"] == one.id,
            (await client.clone(one.name, key=other.id)).id == cloned.id,
            len((await client.messages(other.id)).messages),
        ]

    assert [(2, 2, False, True), True, True, 0] == run(scenario)
