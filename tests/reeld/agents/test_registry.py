"""Which agents are live, and which agent an address means."""

import time

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import Busy, Internal, NotFound, Storage
from reeld.agents.agent import Agent
from reeld.agents.asking import ask, drain, lock
from reeld.agents.jobs import Exclusive
from reeld.store import queries
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient


async def test_an_agent_starts_when_it_is_created(client: DirectClient) -> None:
    """A new agent is live, with the state that the log has, and its next command does not read the log."""
    uid = (await client.create("a", "be brief"))["id"]
    agent = client.registry.get("a") or pytest.fail("it is not live")
    assert agent is client.registry.get(uid)
    await client.add("a", "hello")

    assert (1, 1) == (len(client.registry), client.registry.started)
    assert agent.committed.conversation == (await client.store.load(agent.row)).conversation
    assert agent.committed.profile == await client.store.read(queries.profile_unless_purged, agent.row)


async def test_a_new_agent_that_is_evicted_at_once(client: DirectClient) -> None:
    """A new agent can be evicted before its task has begun."""
    for _ in range(10):  # whether the task has begun is random
        name = (await client.create())["id"]
        client.registry.residency.evict_idle(keep=0)
        assert client.registry.get(name) is None
    await wait_all_tasks_blocked()

    assert (0, 0) == (len(client.registry), client.registry.failed)


async def test_new_agents_with_long_texts(opened: Open) -> None:
    """New agents count towards the limit of the memory, too."""
    async with opened(memory=1 << 20) as client:
        for number in range(20):
            await client.add(str(number), "x" * (1 << 18), create=True)

        assert client.registry.residency.size <= 1 << 20


async def test_a_new_agent_for_which_there_is_no_room(opened: Open) -> None:
    """A new agent stays in the log if the limit is reached: none that is in use has to leave for it."""
    async with opened(max_live=1) as client:
        await client.create("a")
        await client.create("b")
        assert client.registry.get("b") is None

        assert 2 == (await client.add("b", "hello"))["head"]


async def test_a_new_agent_with_many_messages(client: DirectClient) -> None:
    """Folding many events would hold up everybody else: they are read from the log when they are needed."""
    await client.add("a", *["x"] * 1000, create=True)
    assert client.registry.get("a") is None

    assert 1000 == (await client.state("a")).conversation.message_count


async def test_an_agent_starts_on_first_use(client: DirectClient) -> None:
    """An agent starts when it is first used, and is the same one by name and by id."""
    uid = (await client.create("a"))["id"]
    await client.create("b")
    client.registry.residency.evict_idle(keep=0)
    assert (0, None) == (len(client.registry), client.registry.get("a"))

    agent = await client.registry.find("a")
    assert agent is await client.registry.find(uid) is client.registry.get("a") is client.registry.get(uid)
    assert (1, 3) == (len(client.registry), client.registry.started)


async def test_an_unknown_address_is_refused(client: DirectClient) -> None:
    """An unknown address is refused, and the error says how to create the agent."""
    with pytest.raises(NotFound, match="no agent nobody; make one with create") as refused:
        await client.registry.find("nobody")

    assert {"agent": "nobody"} == refused.value.data


async def test_two_who_find_one_at_once(client: DirectClient) -> None:
    """Two finds at once get the same agent, which starts once."""
    await client.create("a")
    found: list[Agent] = []

    async def find() -> None:
        found.append(await client.registry.find("a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(find)
        tasks.start_soon(find)

    assert found[0] is found[1]
    assert 1 == client.registry.started


async def test_an_agent_that_replaces_a_failed_one(client: DirectClient) -> None:
    """The replacement of a failed agent is found by name and id without the database, also after the old one's end."""
    uid = (await client.create("a"))["id"]
    failed = await client.registry.find("a")
    profile = (await client.state("a")).profile
    failed.crash(RuntimeError("a bug"), [])
    agent = client.registry.start(profile)
    await wait_all_tasks_blocked()

    assert failed is not agent
    assert agent is client.registry.get("a") is client.registry.get(uid)
    assert 1 == len(client.registry)


async def test_retiring_loses_nothing(client: DirectClient) -> None:
    """An agent that starts again has the state that it had."""
    await client.create("a", "p")
    await client.add("a", "one", {"kind": "note"})
    await client.mark("a", "m")
    before = await client.state("a")
    profile, conversation = before.profile, before.conversation
    client.registry.residency.evict_idle(keep=0)
    assert 0 == len(client.registry)

    after = await client.state("a")
    assert (profile, conversation) == (after.profile, after.conversation)
    assert conversation is not after.conversation


async def test_the_idle_retire_after_a_while(opened: Open) -> None:
    """Idle agents are evicted after a while; one that was used since stays."""
    async with opened(idle=50.0) as client:
        await client.create("a")
        await client.create("b")
        await client.state("b")
        (await client.registry.find("a")).last_used = time.monotonic() - 60
        await ask(client.registry, await client.registry.find("b"), lambda answer: Exclusive(nothing, answer))
        agent = await client.registry.find("a")
        while not agent.idle:
            await anyio.lowlevel.checkpoint()
        client.registry.residency.evict_idle()

        assert (None, True) == (client.registry.get("a"), client.registry.get("b") is not None)


async def nothing(_: Agent) -> None:
    """Take a turn and do nothing."""


async def test_too_many_live_agents(opened: Open) -> None:
    """If there are too many live agents, those used least recently are evicted, and start again on demand."""
    async with opened(max_live=10) as client:
        for number in range(25):
            await client.add(str(number), f"text {number}", create=True)
            await client.state(str(number))
            assert len(client.registry) <= 10
        assert client.registry.get("24") is not None
        assert client.registry.get("0") is None

        assert ["text 0"] == await client.texts("0")


async def test_the_busy_do_not_retire(client: DirectClient) -> None:
    """An agent that has a turn or mail is not evicted."""
    await client.create("a")
    agent = await client.registry.find("a")
    async with lock(client.registry, [agent]):
        client.registry.residency.evict_idle(keep=0)
        assert agent is client.registry.get("a")
    await client.state("a")
    client.post(agent, "one", answer=lambda _: None)
    client.registry.residency.evict_idle(keep=0)
    assert agent is client.registry.get("a")
    client.registry.pump()

    assert ["one"] == await client.texts("a")


@pytest.mark.parametrize("use", ["ask", "hold"])
async def test_an_agent_that_retired_since_it_was_found(client: DirectClient, use: str) -> None:
    """A caller that found an agent before its eviction gets the current one, or starts it again."""
    await client.add("a", "one", create=True)
    found = await client.registry.find("a")
    await client.state("a")
    client.registry.residency.evict_idle(keep=0)
    await client.add("a", "two")
    if use == "ask":
        await ask(client.registry, found, lambda answer: Exclusive(nothing, answer))
    else:
        async with lock(client.registry, [found]) as held:
            assert [client.registry.get("a")] == held

    assert ["one", "two"] == await client.texts("a")
    assert client.registry.get("a") is not found


async def test_the_held_come_in_the_order_in_which_they_were_named(client: DirectClient) -> None:
    """Held agents are returned in the order of the request, whatever the order of their turns."""
    for name in "abc":
        await client.create(name)
    agents = [await client.registry.find(name) for name in "cab"]
    async with lock(client.registry, agents) as held:
        assert agents == held


async def test_an_agent_that_cannot_be_held(client: DirectClient) -> None:
    """If one of several agents cannot be read, the others are released and the holder gets the error."""
    await client.create("a")
    await client.create("b")
    client.registry.residency.evict_idle(keep=0)
    await client.store._database.run(lambda connection: connection.execute("UPDATE agents SET tags = '' WHERE id = 2"))
    good = await client.registry.find("a")
    bad = client.registry.start((await client.state("a")).profile._replace(row=2, uid="b", name="b"))
    with pytest.raises(Storage, match="cannot be read from the database"):
        async with lock(client.registry, [good, bad]):
            raise AssertionError

    assert 2 == (await client.add("a", "free"))["head"]
    assert client.registry.get("b") is None


async def test_an_agent_that_cannot_be_loaded(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """If an agent cannot be loaded, its callers get the error, the reason is logged, and a later find tries again."""
    await client.create("a")
    await client.create("b")
    client.registry.residency.evict_idle(keep=0)
    profile = (await client.store.read(queries.find, "a")) or pytest.fail("no agent")
    await client.store._database.run(lambda connection: connection.execute("UPDATE agents SET tags = '' WHERE id = 1"))
    for _ in range(2):
        with pytest.raises(Storage, match="the agent cannot be read from the database"):
            await ask(client.registry, client.registry.start(profile), lambda answer: Exclusive(nothing, answer))
    await client.add("b", "unharmed")
    await client.store._database.run(
        lambda connection: connection.execute("UPDATE agents SET tags = '{}' WHERE id = 1")
    )

    assert 2 == (await client.add("a", "mended"))["head"]
    assert 2 == client.registry.failed
    assert "agent=1 cannot be loaded" in caplog.messages


async def test_agents_of_a_database_that_cannot_be_read(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """Callers are told why; the log has one line of all agents, without a traceback, and one when reads work again."""
    await client.create("a")
    await client.create("b")
    profiles = [(await client.state(name)).profile for name in "ab"]
    client.registry.residency.evict_idle(keep=0)
    run = client.store._database.run
    await run(lambda connection: connection.execute("ALTER TABLE events RENAME TO elsewhere"))
    for profile in profiles:
        with pytest.raises(Storage, match="the database cannot be read: no such table"):
            await ask(client.registry, client.registry.start(profile), lambda answer: Exclusive(nothing, answer))
    await run(lambda connection: connection.execute("ALTER TABLE elsewhere RENAME TO events"))
    for name in "ab":
        await client.add(name, "again")

    first, last = [record for record in caplog.records if "reads of" in record.message or "a read of" in record.message]
    assert "agent=1 cannot be loaded: the database cannot be read: no such table" in first.message
    assert first.exc_info is None
    assert "work again; 2 failed within" in last.message
    assert "agent=2" not in caplog.text


async def test_draining_waits_for_everybody(client: DirectClient) -> None:
    """Draining answers everything that was posted before; an agent that failed does not prevent it."""
    answers: list[object] = []
    for name in "abc":
        await client.create(name)
        await client.state(name)
    agents = [await client.registry.find(name) for name in "abc"]
    for agent in agents:
        client.post(agent, "one", answer=answers.append)
    agents[1].crash(ZeroDivisionError(), [])
    client.registry.pump()
    await drain(client.registry)

    assert [False, False, True] == sorted(isinstance(answer, Internal) for answer in answers)


@pytest.mark.slow
async def test_many_agents_at_once(opened: Open) -> None:
    """However many agents are used, only a few are live."""
    async with opened(max_live=20) as client:
        lane = anyio.CapacityLimiter(20)

        async def add(number: int, text: str) -> None:
            async with lane:
                await client.add(str(number), text, create=True)
                assert 20 >= len(client.registry)

        for text in "xy":
            async with anyio.create_task_group() as tasks:
                for number in range(300):
                    tasks.start_soon(add, number, text)
        client.registry.residency.evict_idle(keep=5)

        assert 5 == len(client.registry)
        assert ["x", "y"] == await client.texts("299")


async def test_as_many_at_work_as_may_be_live(opened: Open) -> None:
    """If all live agents are busy, one more is refused as busy; the busy ones are found, one that ends makes room."""
    async with opened(max_live=2) as client:
        for name in "abc":
            await client.add(name, "x", create=True)
        client.registry.residency.evict_idle(keep=0)
        async with lock(client.registry, [await client.registry.find("a")]) as held:
            async with lock(client.registry, [await client.registry.find("b")]):
                with pytest.raises(Busy):
                    await client.registry.find("c")
                assert held == [await client.registry.find("a")]
            await wait_all_tasks_blocked()
            assert await client.registry.find("c")
