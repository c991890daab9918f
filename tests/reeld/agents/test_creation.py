"""What makes agents, or touches several at once: create, clone, clone into, kill with its clones."""

import threading
from functools import partial
from typing import Any

import anyio
import pytest

from reel.errors import Exists, InvalidParams, Killed, NotFound, Storage
from reeld.agents import creation
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.deck import Deck, read_only


async def family(deck: Deck) -> None:
    """Make a root, its child, and the child's child, which the child did not outlive."""
    await deck.add("root", "one", create=True)
    await deck.clone("root", "child")
    await deck.clone("child", "grandchild")
    await deck.kill("child")


# --- create


async def test_create_tells_what_was_made(deck: Deck) -> None:
    """The reply is the agent as it is, with its command; the log begins with it."""
    reply = await deck.create("a", "be brief", title="T", tags={"k": "v"})
    created, prompt = await deck.events("a")

    assert ("a", "T", {"k": "v"}, "be brief", 2, 1, 0, 1) == tuple(
        reply[field] for field in ("name", "title", "tags", "system", "head", "command", "messages", "conversation")
    )
    assert ("created", '{"name":"a","title":"T","tags":{"k":"v"}}', "test") == (
        created["kind"],
        created["data_json"],
        created["client"],
    )
    assert (1, "be brief") == (prompt["command"], prompt["content"])


async def test_a_living_name_cannot_be_taken(deck: Deck) -> None:
    """Neither by create nor by clone; when its bearer is dead it can."""
    await deck.create("a")
    for attempt in (deck.create("a"), deck.clone("a", "a")):
        with pytest.raises(Exists, match="agent a is there already"):
            await attempt
    await deck.kill("a")

    assert "a" == (await deck.create("a"))["name"]


async def test_two_who_want_one_name(deck: Deck) -> None:
    """One gets it, the others are told that it is taken."""
    outcomes: list[str] = []

    async def attempt() -> None:
        try:
            await deck.create("a")
            outcomes.append("made")
        except Exists:
            outcomes.append("taken")

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(attempt)
    agents, _ = await deck.store.agents("", None, 9, None)

    assert (1, ["made"] + 5 * ["taken"]) == (len(agents), sorted(outcomes))


async def test_many_who_add_to_one_who_is_missing(deck: Deck) -> None:
    """One makes the agent, and all of them are heard."""
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(partial(deck.add, "a", str(number), create=True))
    agents, _ = await deck.store.agents("", None, 9, None)

    assert 1 == len(agents)
    assert list("012345") == sorted(await deck.texts("a"))


async def test_an_agent_without_a_name_gets_a_short_one(deck: Deck) -> None:
    """Created or cloned, it can be addressed by a name of five characters."""
    made = await deck.create()
    clone = await deck.clone(made["name"])

    assert [5, 5] == [len(made["name"]), len(clone["name"])]
    assert clone["id"] == (await deck.state(clone["name"])).profile.uid


async def test_short_names_that_are_all_taken(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    """When chance gives only taken names, create and clone fall back to one that cannot be."""
    monkeypatch.setattr(creation, "_LETTERS", "b")
    names = [(await deck.create())["name"] for _ in range(2)] + [(await deck.clone("bbbbb"))["name"]]

    assert ["bbbbb", 16, 16] == [names[0], *map(len, names[1:])]


# --- clone


@pytest.mark.parametrize(
    ("at", "expected"),
    [(None, ["p", "one", "[m]", "two"]), (0, []), (1, ["p"]), (3, ["p", "one"]), (4, ["p", "one", "[m]"])],
)
async def test_a_clone_begins_where_it_was_taken(deck: Deck, at: int | None, expected: list[str]) -> None:
    """It takes over the state there, prompt and marks included, and goes on counting from there."""
    await deck.create("a", "p")
    await deck.add("a", "one")
    await deck.mark("a", "m")
    await deck.add("a", "two")
    reply = await deck.clone("a", "b", at)
    taken = {None: 5, 0: 0, 1: 2, 3: 3, 4: 4}[at]

    assert expected == await deck.texts("b")
    assert (taken + 1, taken) == (reply["command"], reply["source"]["at"])
    assert (await deck.replay("b")).matched


async def test_neither_side_sees_the_others_future(deck: Deck) -> None:
    """What is said, cleared or rewound afterwards stays where it was done."""
    await deck.add("a", "one", create=True)
    await deck.mark("a")
    await deck.clone("a", "b")
    await deck.add("a", "a's")
    await deck.add("b", "b's")
    assert (["one", "[]", "a's"], ["one", "[]", "b's"]) == (await deck.texts("a"), await deck.texts("b"))

    await deck.rewind("b")
    await deck.clear("a")
    assert ([], ["one", "[]"]) == (await deck.texts("a"), await deck.texts("b"))


async def test_a_clone_rewinds_to_an_inherited_mark(deck: Deck) -> None:
    """Marks of the source are the clone's too, across clones of clones."""
    await deck.add("a", "one", create=True)
    await deck.mark("a", "m")
    await deck.add("a", "two")
    await deck.clone("a", "b")
    await deck.clone("b", "c")
    await deck.add("c", "three")
    reply = await deck.rewind("c", "m")

    assert (3, 2) == (reply["target"], reply["dropped"])
    assert ["one", "[m]"] == await deck.texts("c")
    assert (await deck.replay("c")).matched


@pytest.mark.parametrize("make", ["empty", "cleared", "killed"])
async def test_whoever_can_be_cloned(deck: Deck, make: str) -> None:
    """An empty agent, a cleared one and a dead one have clones as any other; these live."""
    await deck.create("a")
    if make != "empty":
        await deck.add("a", "one")
        await (deck.clear("a") if make == "cleared" else deck.kill("a"))
    reply = await deck.clone("a", "b")

    assert reply["alive"]
    assert (["one"] if make == "killed" else []) == await deck.texts("b")
    await deck.add("b", "more")
    assert (await deck.replay("b")).matched


async def test_a_restore_into_the_sources_past(deck: Deck) -> None:
    """Positions below a clone's first own seq are its source's, through every generation."""
    await deck.create("a")
    for text in ("one", "two", "three"):
        await deck.add("a", text)
    await deck.clone("a", "b")
    await deck.add("b", "four")
    await deck.clone("b", "c")
    await deck.clear("a")
    for at, expected in ((6, "one two three four"), (5, "one two three"), (3, "one two"), (2, "one"), (0, "")):
        await deck.restore("c", at)
        assert expected.split() == await deck.texts("c")
        assert (await deck.replay("c")).matched


async def test_seqs_of_a_living_conversation_ascend(deck: Deck) -> None:
    """However it came about: cloned, restored, replaced by a shorter and by a longer one."""
    await deck.add("a", "1", "2", "3", "4", "5", "6", create=True)
    await deck.add("b", "x", create=True)
    await deck.clone("a", "c", 4)
    for source, target in (("a", "b"), ("b", "c"), ("c", "a")):
        await deck.clone_into(source, target)
        await deck.add(target, "more")
        seqs = await deck.seqs(target)
        assert sorted(set(seqs)) == seqs
        assert (await deck.state(target)).profile.head == seqs[-1]


# --- clone into


async def test_into_replaces_the_state_and_nothing_else(deck: Deck) -> None:
    """Name, title, tags and lineage stay; the head jumps past the source's."""
    await deck.create("a", "p")
    await deck.add("a", "one", "two")
    await deck.create("b", title="T", tags={"k": "v"})
    reply = await deck.clone_into("a", "b")
    (event,) = (await deck.events("b"))[1:]

    assert ("b", "T", {"k": "v"}, 5, "p", 2) == tuple(
        reply[field] for field in ("name", "title", "tags", "head", "system", "messages")
    )
    assert "source" not in reply
    assert ("clone", 5, 4) == (event["kind"], event["command"], event["parent"]["seq"])
    assert ["p", "one", "two"] == await deck.texts("b")
    assert (await deck.replay("b")).matched


async def test_into_from_an_earlier_position(deck: Deck) -> None:
    """The state at a seq is taken; seqs go on from the greater of the two."""
    await deck.add("a", "one", create=True)
    await deck.add("a", "two")
    await deck.add("b", "1", "2", "3", "4", create=True)
    reply = await deck.clone_into("a", "b", 2)

    assert (6, ["one"]) == (reply["command"], await deck.texts("b"))
    await deck.undo("b")
    assert ["1", "2", "3", "4"] == await deck.texts("b")


async def test_into_a_clone_of_the_same_past(deck: Deck) -> None:
    """Where the new state is a beginning of the old one nothing has to be read."""
    await deck.add("a", "one", create=True)
    await deck.clone("a", "b")
    await deck.add("b", "two")
    await deck.clone_into("a", "b")

    assert ["one"] == await deck.texts("b")
    assert (await deck.replay("b")).matched


async def test_into_itself(deck: Deck) -> None:
    """It is refused, by whichever address, and restore is named."""
    uid = (await deck.create("a"))["id"]

    with pytest.raises(InvalidParams, match="use restore"):
        await deck.clone_into("a", uid)


async def test_into_both_ways_at_once(deck: Deck) -> None:
    """Whoever holds two agents takes them in one order, so that nobody waits forever."""
    await deck.add("a", "one", create=True)
    await deck.add("b", "two", create=True)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(deck.clone_into, "a", "b")
            tasks.start_soon(deck.clone_into, "b", "a")
            tasks.start_soon(deck.add, "a", "more")

    assert (await deck.replay("a")).matched
    assert (await deck.replay("b")).matched


async def test_a_clone_waits_for_what_was_asked_of_its_source_before(deck: Deck) -> None:
    """An add, the clone and another add, one after the other: the clone has the first and not the second."""
    await deck.create("a")
    await deck.create("b")
    source, target = await deck.registry.find("a"), await deck.registry.find("b")
    answers: list[object] = []
    async with anyio.create_task_group() as tasks, deck.registry.hold([target]):
        deck.post(source, "before", answer=answers.append)
        deck.registry.advance()
        tasks.start_soon(deck.clone, "a", "new")
        tasks.start_soon(deck.clone_into, "a", "b")
        await anyio.wait_all_tasks_blocked()
        deck.post(source, "after", answer=answers.append)
        deck.registry.advance()
    await deck.state("a")

    assert 2 == len(answers)
    assert ["before"] == await deck.texts("new")
    assert ["before", "after"] == await deck.texts("a")


# --- kill


async def test_kill_with_its_clones(deck: Deck) -> None:
    """All living descendants die, also through dead ones; each log says by whom and why."""
    await family(deck)
    reply = await deck.kill("root", "done", cascade=True)
    root, grandchild = (await deck.state("root")).profile, (await deck.state("grandchild")).profile
    death = (await deck.events("grandchild"))[-1]

    assert [root.uid, grandchild.uid] == reply["killed"]
    assert (root.uid, root.head, root.head) == (reply["agent"], reply["head"], reply["command"])
    assert (False, False) == (root.alive, grandchild.alive)
    assert ("agent_killed", f'{{"by":"{root.uid}","reason":"done","cascade":true}}') == (
        death["kind"],
        death["data_json"],
    )


async def test_kill_without_its_clones(deck: Deck) -> None:
    """The others live on; killing the dead again kills nobody and writes nothing."""
    await family(deck)
    assert 1 == len((await deck.kill("root"))["killed"])
    head = (await deck.state("root")).profile.head

    assert [] == (await deck.kill("root"))["killed"]
    assert head == (await deck.state("root")).profile.head
    assert (await deck.state("grandchild")).profile.alive


async def test_kill_of_the_dead_takes_its_living_clones(deck: Deck) -> None:
    """Where the root is dead already the cascade goes on."""
    await family(deck)
    await deck.kill("root")
    reply = await deck.kill("root", cascade=True)

    assert [(await deck.state("grandchild")).profile.uid] == reply["killed"]


async def test_a_cascade_is_all_or_nothing(deck: Deck) -> None:
    """When it cannot be written everybody lives."""
    await family(deck)
    await read_only(deck, True)
    with pytest.raises(Storage):
        await deck.kill("root", cascade=True)
    await read_only(deck, False)

    for name in ("root", "grandchild"):
        assert (await deck.state(name)).profile.alive
    assert 2 == len((await deck.kill("root", cascade=True))["killed"])


async def test_a_cascade_over_more_agents_than_may_live(opened: Open) -> None:
    """Agents that retire while the others are started are started again."""
    async with opened(max_live=3) as deck:
        await deck.create("root")
        for number in range(12):
            await deck.clone("root", f"c{number}")
        reply = await deck.kill("root", cascade=True)

    assert 13 == len(reply["killed"])


async def test_a_clone_that_is_made_during_a_cascade_dies_too(deck: Deck) -> None:
    """Nobody slips through between looking and killing."""
    await deck.create("root")
    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(deck.clone, "root", f"c{number}")
        await deck.kill("root", cascade=True)
    agents, _ = await deck.store.agents("c", None, 99, None)
    dead = [agent for agent in agents if not agent["alive"]]

    assert all(agent["source"]["at"] == 1 for agent in dead)
    assert all(agent["source"]["at"] == 2 for agent in agents if agent["alive"])


async def test_a_cascade_does_not_wake_the_dead(deck: Deck) -> None:
    """There may be many, and reading what they said takes time."""
    await family(deck)
    row = (await deck.state("child")).profile.row
    deck.registry.retire(keep=0)
    await deck.kill("root", cascade=True)

    assert [] == deck.registry.live(row)


@pytest.mark.parametrize("method", [Deck.revive, Deck.clone])
async def test_who_comes_from_the_dead_during_a_cascade_dies_too(deck: Deck, method: Any) -> None:
    """Who is revived, or cloned from the dead, before the others die is one of them."""
    await family(deck)
    disk = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(deck.store._database.run, lambda _: disk.wait())
        tasks.start_soon(method, deck, "child")
        while not deck.store.writer.waiting:
            await deck.store.profile(1)
        tasks.start_soon(partial(deck.kill, "root", cascade=True))
        for _ in range(50):  # reads go on, the cascade's as well
            await deck.store.profile(1)
        disk.set()
    agents, _ = await deck.store.agents("", alive=True, limit=99, after=None)

    assert [] == agents


async def test_the_dead_are_found_by_id_and_by_name(deck: Deck) -> None:
    """Until a living one takes the name."""
    uid = (await deck.create("a"))["id"]
    await deck.kill("a")
    assert uid == (await deck.state("a")).profile.uid

    other = (await deck.create("a"))["id"]
    assert other == (await deck.state("a")).profile.uid
    assert uid == (await deck.state(uid)).profile.uid


async def test_a_bug_while_agents_are_held(deck: Deck, caplog: pytest.LogCaptureFixture) -> None:
    """The state of whoever was held is dropped and read again from the log, which has the command."""
    await deck.add("a", "one", create=True)
    await deck.add("b", "two", create=True)
    await deck.add("c", "three", create=True)
    untouched = await deck.registry.find("c")
    (await deck.state("b")).conversation.entries = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        await deck.clone_into("a", "b")

    assert ["one"] == await deck.texts("b")
    assert (await deck.replay("b")).matched
    assert untouched is await deck.registry.find("c")
    assert any("failed; its state is dropped" in text for text in caplog.messages)


async def test_a_refusal_while_agents_are_held(deck: Deck) -> None:
    """What is refused harms nobody: the agents are those that they were."""
    await deck.create("a")
    await deck.create("b")
    await deck.kill("b")
    held = await deck.registry.find("b")
    with pytest.raises(Killed):
        await deck.clone_into("a", "b")

    assert held is await deck.registry.find("b")


async def test_a_holder_that_is_cancelled_lets_go(deck: Deck) -> None:
    """Whether it waits for a turn or has it."""
    await deck.create("a")
    agent = await deck.registry.find("a")

    async def hold() -> None:
        async with deck.registry.hold([agent]):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        tasks.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert 2 == (await deck.add("a", "free"))["head"]


async def test_nobody_is_made_without_being_asked(deck: Deck) -> None:
    """An add to nobody is refused, unless it may make the agent."""
    with pytest.raises(NotFound):
        await deck.add("a", "hi")
    reply = await deck.add("a", "hi", create=True)

    assert (1, 2, 2) == (reply["command"], reply["first"], reply["head"])


async def test_an_agent_that_cannot_be_written(deck: Deck) -> None:
    """Where there is no room nothing is made, and the name stays free."""
    await read_only(deck, True)
    for attempt in (deck.create("a"), deck.create(), deck.add("a", "x", create=True)):
        with pytest.raises(Storage):
            await attempt
    await read_only(deck, False)

    assert "a" == (await deck.create("a"))["name"]
