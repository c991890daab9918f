"""A command with a key is applied once, however often it is sent."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import anyio
import pytest

from reel.base.errors import Conflict, InvalidParams, Killed, NotFound, NothingToUndo, Storage
from reeld.agents.agent import Agent
from reeld.agents.idempotency import digest
from reeld.store import queries, store
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient

Keyed: TypeAlias = Callable[[DirectClient, str | None], Awaitable[Any]]

# A command that is sent to an agent's address, with a key.
About: TypeAlias = Callable[[DirectClient, str, str], Awaitable[Any]]

COMMANDS: dict[str, Keyed] = {
    "create": lambda client, key: client.create("new", "p", key=key),
    "create_unnamed": lambda client, key: client.create(key=key),
    "add": lambda client, key: client.add("a", "x", key=key),
    "add_create": lambda client, key: client.add("new", "x", create=True, key=key),
    "mark": lambda client, key: client.mark("a", key=key),
    "clear": lambda client, key: client.clear("a", key=key),
    "rewind": lambda client, key: client.rewind("a", key=key),
    "restore": lambda client, key: client.restore("a", 1, key=key),
    "undo": lambda client, key: client.undo("a", key=key),
    "redo": lambda client, key: client.redo("a", key=key),
    "change": lambda client, key: client.change("a", title="T", key=key),
    "rename": lambda client, key: client.change("a", "z", key=key),
    "clone": lambda client, key: client.clone("a", key=key),
    "clone_named": lambda client, key: client.clone("a", "new", key=key),
    "clone_into": lambda client, key: client.clone_into("b", "a", key=key),
    "kill": lambda client, key: client.kill("a", key=key),
    "cascade": lambda client, key: client.kill("a", cascade=True, key=key),
    "revive": lambda client, key: client.revive("dead", key=key),
}
every_command = pytest.mark.parametrize("act", COMMANDS.values(), ids=COMMANDS)

ABOUT_AN_AGENT: dict[str, About] = {
    "add": lambda client, agent, key: client.add(agent, "x", key=key),
    "add_create": lambda client, agent, key: client.add(agent, "x", create=True, key=key),
    "mark": lambda client, agent, key: client.mark(agent, key=key),
    "clear": lambda client, agent, key: client.clear(agent, key=key),
    "rewind": lambda client, agent, key: client.rewind(agent, key=key),
    "restore": lambda client, agent, key: client.restore(agent, 1, key=key),
    "undo": lambda client, agent, key: client.undo(agent, key=key),
    "redo": lambda client, agent, key: client.redo(agent, key=key),
    "change": lambda client, agent, key: client.change(agent, title="T", key=key),
    "clone": lambda client, agent, key: client.clone(agent, key=key),
    "clone_named": lambda client, agent, key: client.clone(agent, "new", key=key),
    "kill": lambda client, agent, key: client.kill(agent, key=key),
    "cascade": lambda client, agent, key: client.kill(agent, cascade=True, key=key),
}
every_command_about_an_agent = pytest.mark.parametrize("act", ABOUT_AN_AGENT.values(), ids=ABOUT_AN_AGENT)


async def prepare_twins(client: DirectClient) -> None:
    """Make two agents with the same history."""
    for name in ("a", "b"):
        await client.create(name)
        await client.mark(name)
        await client.add(name, "one")
        await client.add(name, "two")
        await client.undo(name)


async def prepare(client: DirectClient) -> None:
    """Make agents to which every command can be applied."""
    await client.create("dead")
    await client.kill("dead")
    await client.create("b")
    await client.create("a")
    await client.mark("a")
    await client.add("a", "one")
    await client.add("a", "two")
    await client.undo("a")


async def newest(client: DirectClient) -> int:
    """Return the id of the newest event."""
    return (await client.store.read(queries.totals))["newest_event"]


@every_command
async def test_the_same_key_again(client: DirectClient, act: Keyed) -> None:
    """A repeated command returns the first reply, marked as repeated, and writes nothing."""
    await prepare(client)
    first = await act(client, "k")
    before = await newest(client)

    assert {**first, "repeated": True} == await act(client, "k")
    assert before == await newest(client)


@every_command
async def test_the_same_key_after_a_restart(opened: Open, act: Keyed) -> None:
    """A key is stored in the database, so it is remembered after a restart."""
    async with opened() as client:
        await prepare(client)
        first = await act(client, "k")
    async with opened() as client:
        again = await act(client, "k")

    assert {**first, "repeated": True} == again


@every_command
async def test_a_key_that_stands_for_another_command(client: DirectClient, act: Keyed) -> None:
    """A key that was used for another command is refused, and nothing is written."""
    await prepare(client)
    await client.add("b", "something else", key="k")
    before = await newest(client)

    with pytest.raises(Conflict, match="the key k was used for another command, of the agent b; make a new key"):
        await act(client, "k")
    assert before == await newest(client)


@every_command_about_an_agent
async def test_a_key_of_another_agent_is_refused(client: DirectClient, act: About) -> None:
    """The same command and key for another agent is refused; the error names the agent of the first use."""
    await prepare_twins(client)
    await act(client, "a", "k")
    owner, before = await client.state("a"), await newest(client)

    with pytest.raises(
        Conflict, match="the key k was used for the agent a; make a new key for each command"
    ) as refused:
        await act(client, "b", "k")

    assert {"key": "k", "agent": owner.profile.uid} == refused.value.data
    assert before == await newest(client)


async def test_a_key_of_another_agent_that_is_revived(client: DirectClient) -> None:
    """Revive with another agent's key is refused, although that agent is live already."""
    await prepare_twins(client)
    await client.kill("a")
    first = await client.revive("a", key="k")

    assert {**first, "repeated": True} == await client.revive("a", key="k")
    with pytest.raises(Conflict, match="the key k was used for the agent a"):
        await client.revive("b", key="k")


@every_command_about_an_agent
async def test_a_key_and_the_agent_by_its_id(client: DirectClient, act: About) -> None:
    """An agent counts as the same by its id and by its name."""
    await prepare_twins(client)
    first = await act(client, "a", "k")
    uid = (await client.state("a")).profile.uid

    assert {**first, "repeated": True} == await act(client, uid, "k")


@every_command_about_an_agent
async def test_a_key_and_the_new_name(client: DirectClient, act: About) -> None:
    """A renamed agent counts as the same by its new name, and by the name that the key was used with."""
    await prepare_twins(client)
    first = await act(client, "a", "k")
    await client.revive("a")
    await client.change("a", "renamed")

    assert {**first, "repeated": True} == await act(client, "renamed", "k")
    assert {**first, "repeated": True} == await act(client, "a", "k")


@every_command_about_an_agent
async def test_a_key_and_a_name_that_another_agent_took(client: DirectClient, act: About) -> None:
    """A retry that repeats the first request word for word gets its reply, whichever agent has that name by now."""
    await prepare_twins(client)
    first = await act(client, "a", "k")
    await client.revive("a")
    await client.change("a", "renamed")
    await client.change("b", "a")
    before = await newest(client)

    assert {**first, "repeated": True} == await act(client, "a", "k")
    assert before == await newest(client)


@pytest.mark.parametrize("create", [False, True])
async def test_a_key_and_a_name_that_nobody_has(client: DirectClient, *, create: bool) -> None:
    """A name that is unknown and was not used with the key is refused: it may be mistyped."""
    await client.create("a")
    await client.add("a", "one", create=create, key="k")

    with pytest.raises(Conflict, match="the key k was used for the agent a"):
        await client.add("b", "one", create=create, key="k")
    assert await client.store.read(queries.find, "b") is None


async def test_a_key_of_a_clone_into_from_another_source(client: DirectClient) -> None:
    """The agent of a clone is its source, also if it replaces another agent's state."""
    await prepare_twins(client)
    await client.create("c")
    first = await client.clone_into("a", "c", key="k")

    with pytest.raises(Conflict, match="the key k was used for the agent a"):
        await client.clone_into("b", "c", key="k")
    assert {**first, "repeated": True} == await client.clone_into("a", "c", key="k")


async def test_a_key_of_a_cascade_from_a_dead_agent(client: DirectClient) -> None:
    """The agent of a kill is the one that was named, although only its clones were live."""
    await client.create("a")
    await client.clone("a", "clone")
    await client.kill("a")
    first = await client.kill("a", cascade=True, key="k")

    assert {**first, "repeated": True} == await client.kill("a", cascade=True, key="k")
    with pytest.raises(Conflict, match="the key k was used for the agent a"):
        await client.kill("clone", cascade=True, key="k")


async def test_a_key_that_two_agents_are_given_at_once_for_the_same(client: DirectClient) -> None:
    """If two agents get one key at once for the same command, one applies it and the other refuses it."""
    await client.create("a")
    await client.create("b")
    outcomes: list[Any] = []

    async def attempt(name: str) -> None:
        try:
            outcomes.append(await client.add(name, "one", key="k"))
        except Conflict as conflict:
            outcomes.append(conflict)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, "a")
        tasks.start_soon(attempt, "b")

    assert [Conflict, dict] == sorted(map(type, outcomes), key=lambda kind: kind.__name__)
    assert ["one"] == [*await client.texts("a"), *await client.texts("b")]


async def test_a_key_of_an_older_file(client: DirectClient) -> None:
    """A key stored before agents were noted with keys is compared by its command alone."""
    await client.create("a")
    await client.create("b")
    first = await client.add("a", "one", key="k")
    await client.store._database.run(
        lambda connection: connection.execute(
            "UPDATE keys SET address = NULL, about = NULL, checksum = NULL"
        ).fetchall()
    )

    assert {**first, "repeated": True} == await client.add("a", "one", key="k")
    with pytest.raises(Conflict, match="the key k was used for another command, of the agent a"):
        await client.add("b", "two", key="k")


@pytest.mark.parametrize(
    "change", ["agent = 2", "command = 1", "digest = 'x'", "reply = 'x'", "address = 'b'", "about = 2", "checksum = 1"]
)
async def test_a_damaged_key(client: DirectClient, change: str) -> None:
    """A command whose key is damaged is neither repeated nor called another one: whether it was done is unknown."""
    await client.create("a")
    await client.create("b")
    await client.add("a", "one", key="k")
    damaged = f"UPDATE keys SET {change}".replace("'x'", "CAST('x' AS BLOB)")
    await client.store._database.run(lambda connection: connection.execute(damaged).fetchall())

    with pytest.raises(Storage, match="what is stored of the key k is damaged, so it is unknown whether"):
        await client.add("a", "one", key="k")
    assert ["one"] == await client.texts("a")


async def test_a_key_that_stands_for_another_content(client: DirectClient) -> None:
    """A command whose content differs by one word is another command."""
    await client.add("a", "one", create=True, key="k")
    with pytest.raises(Conflict) as refused:
        await client.add("a", "two", create=True, key="k")

    assert {"key": "k", "agent": (await client.state("a")).profile.uid} == refused.value.data
    assert ["one"] == await client.texts("a")


async def test_a_key_goes_before_if_seq(client: DirectClient) -> None:
    """A repeat is answered although ``if_seq`` no longer holds, in a run and in a turn."""
    await client.create("a")
    first = await client.add("a", "one", if_seq=1, key="k")
    cleared = await client.clear("a", if_seq=2, key="c")

    assert {**first, "repeated": True} == await client.add("a", "one", if_seq=1, key="k")
    assert {**cleared, "repeated": True} == await client.clear("a", if_seq=2, key="c")


async def test_a_key_goes_before_death(client: DirectClient) -> None:
    """A repeat is answered after the agent's death; a new command is refused."""
    await client.create("a")
    first = await client.add("a", "one", key="k")
    await client.kill("a")

    assert {**first, "repeated": True} == await client.add("a", "one", key="k")
    with pytest.raises(Killed):
        await client.add("a", "one", key="other")


async def test_a_key_goes_before_the_name(client: DirectClient) -> None:
    """A repeat is answered if no agent has that name any more."""
    await client.create("a")
    first = await client.add("a", "one", key="k")
    await client.change("a", "b")

    assert {**first, "repeated": True} == await client.add("a", "one", key="k")
    with pytest.raises(NotFound):
        await client.add("a", "one", key="other")


async def test_a_key_twice_in_one_run(client: DirectClient) -> None:
    """If one key appears twice in a run, the second is the repeat; the other commands are applied."""
    await client.create("a")
    agent = await client.registry.find("a")
    replies: list[Any] = []
    await together(client, agent, [("one", "k"), ("one", "k"), ("two", None), ("other", "k")], replies)

    assert ["one", "two"] == await client.texts("a")
    assert {**replies[0], "repeated": True} == replies[1]
    assert 3 == replies[2]["head"]
    assert isinstance(replies[3], Conflict)


async def test_a_repeat_that_is_refused_in_the_run_of_its_original(client: DirectClient) -> None:
    """The key of a refused repeat is looked up after the original has been committed, not before."""
    await client.create("a")
    agent = await client.registry.find("a")
    replies: list[Any] = []
    await together(client, agent, [("one", "k"), ("one", "k")], replies, if_seq=1)

    assert {**replies[0], "repeated": True} == replies[1]
    assert ["one"] == await client.texts("a")


async def together(
    client: DirectClient,
    agent: Agent,
    adds: list[tuple[str, str | None]],
    replies: list[Any],
    if_seq: int | None = None,
) -> None:
    """Put adds into a mailbox at once, and wait until all are answered."""
    answered = anyio.Event()

    def answer(number: int, reply: Any) -> None:
        replies[number] = reply
        if None not in replies:
            answered.set()

    replies[:] = [None] * len(adds)
    for number, (text, key) in enumerate(adds):
        client.post(agent, text, key=key, if_seq=if_seq, answer=partial(answer, number))
    client.registry.pump()
    await answered.wait()


async def test_a_key_that_two_agents_are_given_at_once(client: DirectClient) -> None:
    """Keys are unique in the database: one agent applies the command, the other one's caller is refused."""
    await client.create("a")
    await client.create("b")
    outcomes: list[str] = []

    async def attempt(name: str) -> None:
        try:
            outcomes.append((await client.add(name, name, key="k"))["agent"])
        except Conflict:
            outcomes.append("conflict")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, "a")
        tasks.start_soon(attempt, "b")

    assert 1 == outcomes.count("conflict")
    assert 1 == len(await client.texts("a")) + len(await client.texts("b"))


async def test_a_key_of_a_command_that_was_refused(client: DirectClient) -> None:
    """A refused command leaves its key free."""
    await client.create("a")
    for attempt in (client.undo("a", key="k"), client.restore("a", 9, key="k"), client.change("a", key="k")):
        with pytest.raises((NothingToUndo, InvalidParams)):
            await attempt

    assert 2 == (await client.add("a", "one", key="k"))["head"]


async def test_a_key_after_the_clock_jumped(client: DirectClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was used in 1970 is still known decades later: keys do not expire by the clock."""
    await client.create("a")
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    await client.add("a", "one", key="k")
    monkeypatch.undo()
    await client.store.tidy()

    assert (await client.add("a", "one", key="k"))["repeated"]
    assert ["one"] == await client.texts("a")


async def test_a_key_that_was_forgotten(client: DirectClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """After too many later keys a repeat is a new command."""
    monkeypatch.setattr(store, "KEYS_KEPT", 1)
    await client.add("a", "one", create=True, key="k")
    await client.add("a", "two", key="l")
    await client.store.tidy()
    await client.add("a", "one", create=True, key="k")

    assert ["one", "two", "one"] == await client.texts("a")


def test_a_digest_tells_contents_apart() -> None:
    """The method, the values and their order change the digest; characters that a text cannot have are accepted."""
    contents: list[tuple[str, list[Any]]] = [
        ("add", ["a"]),
        ("add", ["b"]),
        ("mark", ["a"]),
        ("add", [["a"]]),
        ("add", ["\ud800"]),
        ("add", [None]),
    ]

    assert len(contents) == len({digest(method, params) for method, params in contents})
    assert digest("add", ["a"]) == digest("add", ("a",))


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (["hi", None], "104de9840f940b86f8a19e0827ff99db"),
        (["a\ud800", 1 << 70], "0705631be9476aa9d4b213e2374846dd"),
    ],
)
def test_a_digest_is_that_of_earlier_versions(params: list[Any], expected: str) -> None:
    """Otherwise a command that is repeated after an update would be another one."""
    assert expected == digest("add", params).hex()
