"""Which agents are live, and who an address means."""

import time

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.errors import Busy, Internal, NotFound, Storage
from reeld.agents.agent import Agent
from reeld.agents.mail import Turn
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.deck import Deck


async def test_an_agent_starts_on_first_use(deck: Deck) -> None:
    """Making agents starts none; one is found by name and by id, and is the same."""
    uid = (await deck.create("a"))["id"]
    await deck.create("b")
    assert (0, None) == (len(deck.registry), deck.registry.get("a"))

    agent = await deck.registry.find("a")
    assert agent is await deck.registry.find(uid) is deck.registry.get("a") is deck.registry.get(uid)
    assert (1, 1) == (len(deck.registry), deck.registry.started)


async def test_nobody(deck: Deck) -> None:
    """An address that nobody has is refused, with what to do."""
    with pytest.raises(NotFound, match="no agent nobody; make one with create") as refused:
        await deck.registry.find("nobody")

    assert {"agent": "nobody"} == refused.value.data


async def test_two_who_find_one_at_once(deck: Deck) -> None:
    """Both get the same agent, which starts once."""
    await deck.create("a")
    found: list[Agent] = []

    async def find() -> None:
        found.append(await deck.registry.find("a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(find)
        tasks.start_soon(find)

    assert found[0] is found[1]
    assert 1 == deck.registry.started


async def test_who_takes_the_place_of_one_that_failed(deck: Deck) -> None:
    """It is found by name and id without a look at the database, also once the other one is gone."""
    uid = (await deck.create("a"))["id"]
    failed = await deck.registry.find("a")
    profile = (await deck.state("a")).profile
    failed.crash(RuntimeError("a bug"), [])
    agent = deck.registry.start(profile)
    await wait_all_tasks_blocked()

    assert failed is not agent
    assert agent is deck.registry.get("a") is deck.registry.get(uid)
    assert 1 == len(deck.registry)


async def test_retiring_loses_nothing(deck: Deck) -> None:
    """An agent that starts again has the state that it had."""
    await deck.create("a", "p")
    await deck.add("a", "one", {"kind": "note"})
    await deck.mark("a", "m")
    before = await deck.state("a")
    profile, conversation = before.profile, before.conversation
    deck.registry.retire(keep=0)
    assert 0 == len(deck.registry)

    after = await deck.state("a")
    assert (profile, conversation) == (after.profile, after.conversation)
    assert conversation is not after.conversation


async def test_the_idle_retire_after_a_while(opened: Open) -> None:
    """Who was used since stays."""
    async with opened(idle=50.0) as deck:
        await deck.create("a")
        await deck.create("b")
        await deck.state("b")
        (await deck.registry.find("a")).used = time.monotonic() - 60
        await deck.registry.ask(await deck.registry.find("b"), lambda answer: Turn(nothing, answer))
        agent = await deck.registry.find("a")
        while not agent.idle:
            await anyio.lowlevel.checkpoint()
        deck.registry.retire()

        assert (None, True) == (deck.registry.get("a"), deck.registry.get("b") is not None)


async def nothing(_: Agent) -> None:
    """Take a turn and do nothing."""


async def test_too_many_live_agents(opened: Open) -> None:
    """Those that were used least recently make room, and come back when they are asked."""
    async with opened(max_live=10) as deck:
        for number in range(25):
            await deck.add(str(number), f"text {number}", create=True)
            await deck.state(str(number))
            assert len(deck.registry) <= 10
        assert deck.registry.get("24") is not None
        assert deck.registry.get("0") is None

        assert ["text 0"] == await deck.texts("0")


async def test_the_busy_do_not_retire(deck: Deck) -> None:
    """Neither one that takes a turn nor one that has mail is let go."""
    await deck.create("a")
    agent = await deck.registry.find("a")
    async with deck.registry.hold([agent]):
        deck.registry.retire(keep=0)
        assert agent is deck.registry.get("a")
    await deck.state("a")
    deck.post(agent, "one", answer=lambda _: None)
    deck.registry.retire(keep=0)
    assert agent is deck.registry.get("a")
    deck.registry.advance()

    assert ["one"] == await deck.texts("a")


@pytest.mark.parametrize("use", ["ask", "hold"])
async def test_an_agent_that_retired_since_it_was_found(deck: Deck, use: str) -> None:
    """Whoever found it before gets the one that is live now, or starts it again."""
    await deck.add("a", "one", create=True)
    found = await deck.registry.find("a")
    await deck.state("a")
    deck.registry.retire(keep=0)
    await deck.add("a", "two")
    if use == "ask":
        await deck.registry.ask(found, lambda answer: Turn(nothing, answer))
    else:
        async with deck.registry.hold([found]) as held:
            assert [deck.registry.get("a")] == held

    assert ["one", "two"] == await deck.texts("a")
    assert deck.registry.get("a") is not found


async def test_the_held_come_in_the_order_in_which_they_were_named(deck: Deck) -> None:
    """Whatever the order in which their turns were taken."""
    for name in "abc":
        await deck.create(name)
    agents = [await deck.registry.find(name) for name in "cab"]
    async with deck.registry.hold(agents) as held:
        assert agents == held


async def test_an_agent_that_cannot_be_held(deck: Deck) -> None:
    """When one of several cannot be read, the others are let go, and the holder is told."""
    await deck.create("a")
    await deck.create("b")
    await deck.store._database.run(lambda connection: connection.execute("UPDATE agents SET tags = '' WHERE id = 2"))
    good = await deck.registry.find("a")
    bad = deck.registry.start((await deck.state("a")).profile._replace(row=2, uid="b", name="b"))
    with pytest.raises(Storage, match="cannot be read from the database"):
        async with deck.registry.hold([good, bad]):
            raise AssertionError

    assert 2 == (await deck.add("a", "free"))["head"]
    assert deck.registry.get("b") is None


async def test_an_agent_that_cannot_be_loaded(deck: Deck, caplog: pytest.LogCaptureFixture) -> None:
    """Its callers are told, the log says why, it is forgotten, and works as soon as it can be read."""
    await deck.create("a")
    await deck.create("b")
    profile = (await deck.store.find("a")) or pytest.fail("no agent")
    await deck.store._database.run(lambda connection: connection.execute("UPDATE agents SET tags = '' WHERE id = 1"))
    for _ in range(2):
        with pytest.raises(Storage, match="the agent cannot be read from the database"):
            await deck.registry.ask(deck.registry.start(profile), lambda answer: Turn(nothing, answer))
    await deck.add("b", "unharmed")
    await deck.store._database.run(lambda connection: connection.execute("UPDATE agents SET tags = '{}' WHERE id = 1"))

    assert 2 == (await deck.add("a", "mended"))["head"]
    assert 2 == deck.registry.failed
    assert "agent=1 cannot be loaded" in caplog.messages


async def test_draining_waits_for_everybody(deck: Deck) -> None:
    """What was posted before is answered when the registry has drained; who failed is no obstacle."""
    answers: list[object] = []
    for name in "abc":
        await deck.create(name)
        await deck.state(name)
    agents = [await deck.registry.find(name) for name in "abc"]
    for agent in agents:
        deck.post(agent, "one", answer=answers.append)
    agents[1].fail(Internal("a test"))
    deck.registry.advance()
    await deck.registry.drain()

    assert [False, False, True] == sorted(isinstance(answer, Internal) for answer in answers)


async def test_many_agents_at_once(opened: Open) -> None:
    """However many are touched, few are live."""
    async with opened(max_live=20) as deck:
        lane = anyio.CapacityLimiter(20)

        async def add(number: int, text: str) -> None:
            async with lane:
                await deck.add(str(number), text, create=True)
                assert 20 >= len(deck.registry)

        for text in "xy":
            async with anyio.create_task_group() as tasks:
                for number in range(300):
                    tasks.start_soon(add, number, text)
        deck.registry.retire(keep=5)

        assert 5 == len(deck.registry)
        assert ["x", "y"] == await deck.texts("299")


async def test_as_many_at_work_as_may_be_live(opened: Open) -> None:
    """Who wants one more is told to ask again; those at work are still found, and there is room as one is done."""
    async with opened(max_live=2) as deck:
        for name in "abc":
            await deck.add(name, "x", create=True)
        deck.registry.retire(keep=0)
        async with deck.registry.hold([await deck.registry.find("a")]) as held:
            async with deck.registry.hold([await deck.registry.find("b")]):
                with pytest.raises(Busy):
                    await deck.registry.find("c")
                assert held == [await deck.registry.find("a")]
            await wait_all_tasks_blocked()
            assert await deck.registry.find("c")
