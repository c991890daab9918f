"""Commands that create agents or touch several at once: create, clone, clone into, kill with its clones."""

import threading
from functools import partial
from typing import Any

import anyio
import pytest

from reel.base.errors import Exists, InvalidParams, Killed, NotFound, Storage
from reeld.agents import executor, many_rows
from reeld.agents.asking import lock
from reeld.store import queries
from tests.patience import PATIENCE
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient, read_only


async def family(client: DirectClient) -> None:
    """Make a root, its child (dead), and the child's child (live)."""
    await client.add("root", "one", create=True)
    await client.clone("root", "child")
    await client.clone("child", "grandchild")
    await client.kill("child")


# --- create


async def test_create_tells_what_was_made(client: DirectClient) -> None:
    """The reply is the new agent's info with the command, and the log begins with ``created``."""
    reply = await client.create("a", "be brief", title="T", tags={"k": "v"})
    created, prompt = await client.events("a")

    assert ("a", "T", {"k": "v"}, "be brief", 2, 1, 0, 1) == tuple(
        reply[field] for field in ("name", "title", "tags", "system", "head", "command", "messages", "conversation")
    )
    assert ("created", '{"name":"a","title":"T","tags":{"k":"v"}}', "test") == (
        created["kind"],
        created["data_json"],
        created["client"],
    )
    assert (1, "be brief") == (prompt["command"], prompt["content"])


async def test_the_name_of_a_live_agent_cannot_be_taken(client: DirectClient) -> None:
    """Neither create nor clone may take a live agent's name; a dead agent's name is free."""
    await client.create("a")
    for attempt in (client.create("a"), client.clone("a", "a")):
        with pytest.raises(Exists, match="agent a exists already; choose another name, or continue with that agent"):
            await attempt
    await client.kill("a")

    assert "a" == (await client.create("a"))["name"]


async def test_two_who_want_one_name(client: DirectClient) -> None:
    """Of two creates of one name one succeeds, and the other is refused as taken."""
    outcomes: list[str] = []

    async def attempt() -> None:
        try:
            await client.create("a")
            outcomes.append("made")
        except Exists:
            outcomes.append("taken")

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(attempt)
    agents = await client.agents()

    assert (1, ["made"] + 5 * ["taken"]) == (len(agents), sorted(outcomes))


async def test_many_who_add_to_one_who_is_missing(client: DirectClient) -> None:
    """Many adds with ``create`` make the agent once, and all of them are applied."""
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(partial(client.add, "a", str(number), create=True))
    agents = await client.agents()

    assert 1 == len(agents)
    assert list("012345") == sorted(await client.texts("a"))


async def test_an_agent_without_a_name_gets_a_short_one(client: DirectClient) -> None:
    """An agent that is created or cloned without a name gets a generated one of five characters."""
    made = await client.create()
    clone = await client.clone(made["name"])

    assert [5, 5] == [len(made["name"]), len(clone["name"])]
    assert clone["id"] == (await client.state(clone["name"])).profile.uid


async def test_short_names_that_are_all_taken(client: DirectClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all generated short names are taken, create and clone fall back to a longer, unique one."""
    monkeypatch.setattr(executor, "_LETTERS", "b")
    names = [(await client.create())["name"] for _ in range(2)] + [(await client.clone("bbbbb"))["name"]]

    assert ["bbbbb", 16, 16] == [names[0], *map(len, names[1:])]


# --- clone


@pytest.mark.parametrize(
    ("at", "expected"),
    [(None, ["p", "one", "[m]", "two"]), (0, []), (1, ["p"]), (3, ["p", "one"]), (4, ["p", "one", "[m]"])],
)
async def test_a_clone_begins_where_it_was_taken(client: DirectClient, at: int | None, expected: list[str]) -> None:
    """A clone has the source's state, prompt and marks, and its seqs continue from there."""
    await client.create("a", "p")
    await client.add("a", "one")
    await client.mark("a", "m")
    await client.add("a", "two")
    reply = await client.clone("a", "b", at)
    taken = {None: 5, 0: 0, 1: 2, 3: 3, 4: 4}[at]

    assert expected == await client.texts("b")
    assert (taken + 1, taken) == (reply["command"], reply["source"]["at"])
    assert (await client.replay("b")).matched


async def test_neither_side_sees_the_others_future(client: DirectClient) -> None:
    """Changes made to the source or the clone after cloning do not affect the other one."""
    await client.add("a", "one", create=True)
    await client.mark("a")
    await client.clone("a", "b")
    await client.add("a", "a's")
    await client.add("b", "b's")
    assert (["one", "[]", "a's"], ["one", "[]", "b's"]) == (await client.texts("a"), await client.texts("b"))

    await client.rewind("b")
    await client.clear("a")
    assert ([], ["one", "[]"]) == (await client.texts("a"), await client.texts("b"))


async def test_a_clone_with_its_original_time(client: DirectClient) -> None:
    """It does not make an old conversation recent, nor does a title afterwards; a clone without it is new."""
    for name in ("a", "other"):
        await client.add(name, {"role": "user", "content": "x", "sent": 5}, create=True)
    await client.clone("a", "old", sent=6)
    await client.change("old", title="T")
    await client.clone_into("a", "other", sent=7)
    new = await client.clone("a", "new")
    updated = [(await client.state(name)).profile.updated for name in ("old", "other", "new")]

    assert [6, 7, new["time"]] == updated
    assert 6 == (await client.events("old"))[0]["sent"]


async def test_a_clone_rewinds_to_an_inherited_mark(client: DirectClient) -> None:
    """Marks of the source are also the clone's, across clones of clones."""
    await client.add("a", "one", create=True)
    await client.mark("a", "m")
    await client.add("a", "two")
    await client.clone("a", "b")
    await client.clone("b", "c")
    await client.add("c", "three")
    reply = await client.rewind("c", "m")

    assert (3, 2) == (reply["target"], reply["dropped"])
    assert ["one", "[m]"] == await client.texts("c")
    assert (await client.replay("c")).matched


@pytest.mark.parametrize("make", ["empty", "cleared", "killed"])
async def test_empty_cleared_and_dead_agents_can_be_cloned(client: DirectClient, make: str) -> None:
    """An empty, a cleared and a dead agent can be cloned, and the clones are live."""
    await client.create("a")
    if make != "empty":
        await client.add("a", "one")
        await (client.clear("a") if make == "cleared" else client.kill("a"))
    reply = await client.clone("a", "b")

    assert reply["alive"]
    assert (["one"] if make == "killed" else []) == await client.texts("b")
    await client.add("b", "more")
    assert (await client.replay("b")).matched


async def test_a_restore_into_the_sources_past(client: DirectClient) -> None:
    """Positions below a clone's first own seq are its source's, through every generation."""
    await client.create("a")
    for text in ("one", "two", "three"):
        await client.add("a", text)
    await client.clone("a", "b")
    await client.add("b", "four")
    await client.clone("b", "c")
    await client.clear("a")
    for at, expected in ((6, "one two three four"), (5, "one two three"), (3, "one two"), (2, "one"), (0, "")):
        await client.restore("c", at)
        assert expected.split() == await client.texts("c")
        assert (await client.replay("c")).matched


async def test_seqs_of_a_live_conversation_ascend(client: DirectClient) -> None:
    """Seqs ascend in a conversation that was cloned, restored or replaced by a shorter or longer one."""
    await client.add("a", "1", "2", "3", "4", "5", "6", create=True)
    await client.add("b", "x", create=True)
    await client.clone("a", "c", 4)
    for source, target in (("a", "b"), ("b", "c"), ("c", "a")):
        await client.clone_into(source, target)
        await client.add(target, "more")
        seqs = await client.seqs(target)
        assert sorted(set(seqs)) == seqs
        assert (await client.state(target)).profile.head == seqs[-1]


# --- clone into


async def test_into_replaces_the_state_and_nothing_else(client: DirectClient) -> None:
    """Name, title, tags and lineage stay, and the head moves past the source's."""
    await client.create("a", "p")
    await client.add("a", "one", "two")
    await client.create("b", title="T", tags={"k": "v"})
    reply = await client.clone_into("a", "b")
    (event,) = (await client.events("b"))[1:]

    assert ("b", "T", {"k": "v"}, 5, "p", 2) == tuple(
        reply[field] for field in ("name", "title", "tags", "head", "system", "messages")
    )
    assert "source" not in reply
    assert ("clone", 5, 4) == (event["kind"], event["command"], event["parent"]["seq"])
    assert ["p", "one", "two"] == await client.texts("b")
    assert (await client.replay("b")).matched


async def test_into_from_an_earlier_position(client: DirectClient) -> None:
    """``into`` with ``at`` takes the state at that seq; seqs continue from the greater of the two heads."""
    await client.add("a", "one", create=True)
    await client.add("a", "two")
    await client.add("b", "1", "2", "3", "4", create=True)
    reply = await client.clone_into("a", "b", 2)

    assert (6, ["one"]) == (reply["command"], await client.texts("b"))
    await client.undo("b")
    assert ["1", "2", "3", "4"] == await client.texts("b")


async def test_into_a_clone_of_the_same_past(client: DirectClient) -> None:
    """If the new state is a prefix of the old one, nothing has to be read."""
    await client.add("a", "one", create=True)
    await client.clone("a", "b")
    await client.add("b", "two")
    await client.clone_into("a", "b")

    assert ["one"] == await client.texts("b")
    assert (await client.replay("b")).matched


async def test_into_itself(client: DirectClient) -> None:
    """Cloning an agent into itself is refused under any address, and the error suggests restore."""
    uid = (await client.create("a"))["id"]

    with pytest.raises(InvalidParams, match="use restore"):
        await client.clone_into("a", uid)


async def test_into_both_ways_at_once(client: DirectClient) -> None:
    """Two agents are always held in one order, so clones into each other do not deadlock."""
    await client.add("a", "one", create=True)
    await client.add("b", "two", create=True)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(client.clone_into, "a", "b")
            tasks.start_soon(client.clone_into, "b", "a")
            tasks.start_soon(client.add, "a", "more")

    assert (await client.replay("a")).matched
    assert (await client.replay("b")).matched


async def test_a_clone_waits_for_what_was_asked_of_its_source_before(client: DirectClient) -> None:
    """A clone between two adds has the first one and not the second."""
    await client.create("a")
    await client.create("b")
    source, target = await client.registry.find("a"), await client.registry.find("b")
    answers: list[object] = []
    async with anyio.create_task_group() as tasks, lock(client.registry, [target]):
        client.post(source, "before", answer=answers.append)
        client.registry.pump()
        tasks.start_soon(client.clone, "a", "new")
        tasks.start_soon(client.clone_into, "a", "b")
        await anyio.wait_all_tasks_blocked()
        client.post(source, "after", answer=answers.append)
        client.registry.pump()
    await client.state("a")

    assert 2 == len(answers)
    assert ["before"] == await client.texts("new")
    assert ["before", "after"] == await client.texts("a")


# --- kill


async def test_kill_with_its_clones(client: DirectClient) -> None:
    """Killing with ``cascade`` kills all live descendants, also through dead ones; each log says by whom and why."""
    await family(client)
    reply = await client.kill("root", "done", cascade=True)
    root, grandchild = (await client.state("root")).profile, (await client.state("grandchild")).profile
    death = (await client.events("grandchild"))[-1]

    assert [root.uid, grandchild.uid] == reply["killed"]
    assert (root.uid, root.head, root.head) == (reply["agent"], reply["head"], reply["command"])
    assert (False, False) == (root.alive, grandchild.alive)
    assert ("agent_killed", f'{{"by":"{root.uid}","reason":"done","cascade":true}}') == (
        death["kind"],
        death["data_json"],
    )


async def test_kill_without_its_clones(client: DirectClient) -> None:
    """Without ``cascade`` the clones stay live; killing a dead agent again kills nobody and writes nothing."""
    await family(client)
    assert 1 == len((await client.kill("root"))["killed"])
    head = (await client.state("root")).profile.head

    assert [] == (await client.kill("root"))["killed"]
    assert head == (await client.state("root")).profile.head
    assert (await client.state("grandchild")).profile.alive


async def test_kill_of_a_dead_agent_kills_its_live_clones(client: DirectClient) -> None:
    """A cascade from a dead root still kills its live clones."""
    await family(client)
    await client.kill("root")
    reply = await client.kill("root", cascade=True)

    assert [(await client.state("grandchild")).profile.uid] == reply["killed"]


async def test_a_cascade_is_all_or_nothing(client: DirectClient) -> None:
    """If a cascade cannot be written, everybody stays live."""
    await family(client)
    await read_only(client, True)
    with pytest.raises(Storage):
        await client.kill("root", cascade=True)
    await read_only(client, False)

    for name in ("root", "grandchild"):
        assert (await client.state(name)).profile.alive
    assert 2 == len((await client.kill("root", cascade=True))["killed"])


async def test_a_cascade_over_more_agents_than_may_live(opened: Open) -> None:
    """A cascade starts agents again that are evicted while it starts the others."""
    async with opened(max_live=3) as client:
        await client.create("root")
        for number in range(12):
            await client.clone("root", f"c{number}")
        reply = await client.kill("root", cascade=True)

    assert 13 == len(reply["killed"])


async def test_a_clone_that_is_made_during_a_cascade_dies_too(client: DirectClient) -> None:
    """A clone made while the cascade looks for agents is killed too."""
    await client.create("root")
    await client.clone("root", "first")
    root, disk = await client.registry.find("root"), threading.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for reader in client.store._readers:
                tasks.start_soon(reader.run, lambda _: disk.wait())
            tasks.start_soon(partial(client.kill, "root", cascade=True))
            while all(reader.waiting < 2 for reader in client.store._readers):  # the cascade's look-up waits
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(client.clone, "root", "second")
            while not root.waiting:
                await anyio.lowlevel.checkpoint()
            disk.set()

    agents = {agent["name"]: agent for agent in await client.agents()}
    assert {"root": False, "first": False, "second": False} == {name: each["alive"] for name, each in agents.items()}
    assert 1 == agents["second"]["source"]["at"]


async def test_a_cascade_does_not_wake_the_dead(client: DirectClient) -> None:
    """A cascade does not load dead agents: there may be many, and reading their logs takes time."""
    await family(client)
    row = (await client.state("child")).profile.row
    client.registry.residency.evict_idle(keep=0)
    await client.kill("root", cascade=True)

    assert [] == client.registry.live(row)


@pytest.mark.parametrize("method", [DirectClient.revive, DirectClient.clone])
async def test_an_agent_revived_during_a_cascade_dies_too(client: DirectClient, method: Any) -> None:
    """An agent that is revived, or cloned from a dead one, during a cascade is killed too."""
    await family(client)
    disk = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.store._database.run, lambda _: disk.wait())
        tasks.start_soon(method, client, "child")
        while not client.store.writer.waiting:
            await client.store.read(queries.profile_unless_purged, 1)
        tasks.start_soon(partial(client.kill, "root", cascade=True))
        for _ in range(50):  # reads go on, including the cascade's
            await client.store.read(queries.profile_unless_purged, 1)
        disk.set()

    assert [] == await client.agents(alive=True)


async def test_nobody_comes_between_a_long_cascade_and_its_commit(
    client: DirectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many agents a cascade kills, a clone that is revived before it in the log is killed too."""
    monkeypatch.setattr(many_rows, "_MANY", 2)
    await family(client)
    client.registry.residency.evict_idle(keep=0)
    threads, release = anyio.to_thread.current_default_thread_limiter(), threading.Event()
    monkeypatch.setattr(threads, "total_tokens", 1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(anyio.to_thread.run_sync, release.wait))
        tasks.start_soon(partial(client.kill, "root", cascade=True))
        for _ in range(50):  # the cascade's reads go on
            await client.store.read(queries.profile_unless_purged, 1)
        await client.revive("child")
        release.set()

    revived = max(event["id"] for event in await client.events("child") if event["kind"] == "revived")
    killed = max(event["id"] for event in await client.events("grandchild"))
    assert (killed < revived) is (await client.state("child")).profile.alive


async def test_a_cascade_brings_clones_back(client: DirectClient) -> None:
    """Killed clones are revived in one command, also below a live one; a clone whose name is taken stays killed."""
    ids = {}
    for source, clone in ((None, "a"), ("a", "b"), ("b", "c"), ("b", "d")):
        made = await (client.create(clone) if source is None else client.clone(source, clone))
        ids[clone] = made["id"]
    await client.kill("a", cascade=True)
    await client.revive("b")
    await client.create("d")
    commits = client.store.writer.commits
    reply = await client.revive("a", cascade=True, key="once")

    assert ([ids["a"], ids["c"]], [ids["d"]]) == (reply["revived"], reply["taken"])
    assert (True, 1) == (reply["alive"], client.store.writer.commits - commits)
    assert {**reply, "repeated": True} == await client.revive("a", cascade=True, key="once")
    assert [] == (await client.revive("a", cascade=True))["revived"]
    assert [True, True, True] == [(await client.replay(name)).matched for name in ("a", "b", "c")]


async def test_the_dead_are_found_by_id_and_by_name(client: DirectClient) -> None:
    """A dead agent is found by its id, and by its name until a live one takes that name."""
    uid = (await client.create("a"))["id"]
    await client.kill("a")
    assert uid == (await client.state("a")).profile.uid

    other = (await client.create("a"))["id"]
    assert other == (await client.state("a")).profile.uid
    assert uid == (await client.state(uid)).profile.uid


async def test_a_bug_while_agents_are_held(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """After a bug the states of held agents are dropped and read again from the log, which has the command."""
    await client.add("a", "one", create=True)
    await client.add("b", "two", create=True)
    await client.add("c", "three", create=True)
    untouched = await client.registry.find("c")
    (await client.state("b")).conversation._prompts = None  # type: ignore[assignment]  # only applying needs it
    with pytest.raises(TypeError):
        await client.clone_into("a", "b")

    assert ["one"] == await client.texts("b")
    assert (await client.replay("b")).matched
    assert untouched is await client.registry.find("c")
    assert any("failed; its state is dropped" in text for text in caplog.messages)


async def test_a_refusal_while_agents_are_held(client: DirectClient) -> None:
    """After a refusal the held agents are the same ones as before."""
    await client.create("a")
    await client.create("b")
    await client.kill("b")
    held = await client.registry.find("b")
    with pytest.raises(Killed):
        await client.clone_into("a", "b")

    assert held is await client.registry.find("b")


async def test_a_holder_that_is_cancelled_lets_go(client: DirectClient) -> None:
    """A cancelled holder releases its agents, whether it waits for a turn or has it."""
    await client.create("a")
    agent = await client.registry.find("a")

    async def hold() -> None:
        async with lock(client.registry, [agent]):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        tasks.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert 2 == (await client.add("a", "free"))["head"]


async def test_no_agent_is_made_without_create(client: DirectClient) -> None:
    """Adding to a missing agent is refused, unless ``create`` is set."""
    with pytest.raises(NotFound):
        await client.add("a", "hi")
    reply = await client.add("a", "hi", create=True)

    assert (1, 2, 2) == (reply["command"], reply["first"], reply["head"])


async def test_an_agent_that_cannot_be_written(client: DirectClient) -> None:
    """If a new agent cannot be written, none is made and its name stays free."""
    await read_only(client, True)
    for attempt in (client.create("a"), client.create(), client.add("a", "x", create=True)):
        with pytest.raises(Storage):
            await attempt
    await read_only(client, False)

    assert "a" == (await client.create("a"))["name"]
