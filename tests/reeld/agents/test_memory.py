"""Long conversations: only the newest entries are in memory, and everything is as if all were."""

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

import anyio
import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import InvalidParams, ReelError
from reeld.agents.asking import drain
from reeld.agents.live_state import MOST_HELD
from reeld.agents.registry import Registry
from reeld.core.milestones import STEP
from reeld.core.reading import LEAST_READ
from reeld.store.store import open_store
from tests.empty_database import empty_database
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient
from tests.reeld.store.making import query

LONG = 3000
# Entries that are in memory at most after a load.
LOADED = LEAST_READ + 2 * STEP


async def talk(client: DirectClient, name: str, first: int, last: int) -> None:
    """Add numbered messages, a thousand at a time."""
    for begin in range(first, last, 1000):
        await client.add(name, *map(str, range(begin, min(begin + 1000, last))), create=True)


@pytest.fixture
async def cold(opened: Open) -> AsyncIterator[DirectClient]:
    """A client of a daemon that has just started; the agent ``long`` has 3,000 messages and a mark after the tenth."""
    async with opened() as client:
        await talk(client, "long", 0, 10)
        await client.mark("long", "early")
        await talk(client, "long", 10, LONG)
    async with opened() as client:
        yield client


async def length(client: DirectClient, name: str = "long") -> tuple[int, int]:
    """Return how many records there are, and how many of them are in memory."""
    conversation = (await client.state(name)).conversation
    return conversation.extent.records, len(conversation.entries)


async def texts(client: DirectClient, name: str = "long") -> list[str | None]:
    """Return the contents of all records, read from the log."""
    tip = (await client.state(name)).conversation.tip
    return [entry.content for entry in (await client.store.whole(tip)).entries]


async def test_a_cold_conversation(cold: DirectClient) -> None:
    """Its newest entries are read, and everything is known that is needed of the others."""
    records, held = await length(cold)

    assert LONG == records
    assert LEAST_READ <= held <= LOADED
    assert ["early"] == [mark.label for mark in (await cold.state("long")).conversation.marks]
    assert (await cold.replay("long")).matched


async def test_going_back_further_than_what_is_in_memory(cold: DirectClient) -> None:
    """A rewind, an undo, a redo and a restore to what is not in memory are as always."""
    reply = await cold.rewind("long", "early")
    assert (LONG - 10, [str(n) for n in range(10)]) == (reply["dropped"], await texts(cold))

    await cold.undo("long")
    assert (LONG, list(map(str, range(LONG)))) == ((await length(cold))[0], await texts(cold))
    assert (await length(cold))[1] <= LOADED

    await cold.redo("long")
    assert 10 == (await length(cold))[0]

    await cold.restore("long", 1500)
    assert ["early"] == [mark.label for mark in (await cold.state("long")).conversation.marks]
    assert (await cold.replay("long")).matched


async def test_a_replacement_of_what_is_not_in_memory(cold: DirectClient) -> None:
    """A message before those in memory is found, with the state before it; one that is not there is not."""
    for seq, dropped, kept in ((1503, LONG - 1500, 1500), (13, 1491, 10), (2, 11, 0)):
        reply = await cold.replace("long", seq, "other")

        assert (dropped, [*map(str, range(kept)), "other"]) == (reply["dropped"], await texts(cold))
        assert (await cold.replay("long")).matched
    for _ in range(3):
        await cold.undo("long")
    for seq in (1, 12):
        with pytest.raises(InvalidParams, match=f"from: {seq} is not"):
            await cold.replace("long", seq)


async def test_a_clone_of_what_is_not_in_memory(cold: DirectClient) -> None:
    """A clone of an early position has what was there, and so has an agent that takes it over."""
    await cold.clone("long", "new", at=50)
    await talk(cold, "other", 0, 5)
    await cold.clone_into("long", "other", at=50)

    assert await texts(cold, "new") == await texts(cold, "other")
    assert (await length(cold, "new"))[0] == len(await texts(cold, "new"))


async def test_many_small_messages(opened: Open) -> None:
    """However small the messages of a conversation are, no step drops, cuts off or compares more than so many."""
    async with opened() as client:
        for begin in range(0, MOST_HELD + 20_000, 10_000):
            await client.add("long", *map(str, range(begin, begin + 10_000)), create=True)
            assert (await length(client))[1] <= MOST_HELD + STEP
        conversation = (await client.state("long")).conversation

        assert MOST_HELD + 20_000 == conversation.extent.records
        assert MOST_HELD <= len(conversation.entries)
        assert client.registry.residency.size == conversation.size
        assert not client.registry.residency.has_room_for(await client.store.whole(conversation.tip))
        assert (await client.replay("long")).matched


async def test_a_budget_for_all(opened: Open) -> None:
    """What was not used for longest leaves memory first; then whole agents do. Nothing is lost."""
    async with opened(memory=2 << 20) as client:
        for name in ("a", "b", "c", "d"):
            await talk(client, name, 0, LONG)
            assert client.registry.residency.size <= 2 << 20
        held = [(await length(client, name))[1] for name in ("d", "c", "b", "a")]
        assert held[0] == LONG
        assert all(LEAST_READ <= number <= LOADED for number in held[1:])
        for name in ("a", "b", "c", "d"):
            assert LONG == (await length(client, name))[0]
            assert (await client.replay(name)).matched


async def test_a_budget_for_what_has_references(opened: Open) -> None:
    """What is added in exclusive jobs alone, such as an import, leaves memory as well."""
    async with opened(memory=1 << 18) as client:
        for number in range(30):
            said = [{"role": "user", "content": "words " * 20, "ref": f"{number}-{part}"} for part in range(100)]
            await client.add("a", *said, create=True)
            assert client.registry.residency.size <= 1 << 19  # it may grow by a milestone's entries between two looks
        assert 3000 == (await length(client, "a"))[0]
        assert (await client.replay("a")).matched


async def test_agents_leave_memory_if_the_budget_is_very_small(opened: Open) -> None:
    """The newest entries of many agents may be too much as well."""
    async with opened(memory=1 << 16) as client:
        for number in range(10):
            await talk(client, f"agent-{number}", 0, 100)
            await talk(client, f"agent-{number}", 100, 700)

        assert len(client.registry) < 10
        assert list(map(str, range(700))) == await texts(client, "agent-0")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM milestones",
        pytest.param("UPDATE milestones SET records = 7, previous = NULL", marks=pytest.mark.slow),
    ],
)
async def test_milestones_are_made_again(opened: Open, path: str, statement: str) -> None:
    """If they are lost or damaged, the log is walked, and the next start finds them."""
    async with opened() as client:
        await talk(client, "long", 0, 10 * LONG)
    before = query(path, "SELECT * FROM milestones ORDER BY id")
    query(path, statement)
    async with opened() as client:
        assert 10 * LONG == (await length(client))[0]
        assert (await length(client))[1] <= LOADED
    after = query(path, "SELECT * FROM milestones ORDER BY id")

    assert before == after
    assert 10 * LONG // STEP == len(before)


async def test_a_cascade_reads_little(opened: Open) -> None:
    """A cascading kill reads the ends of the clones' conversations."""
    async with opened() as client:
        await talk(client, "long", 0, LONG)
        for number in range(20):
            await client.clone("long", f"clone-{number}")
    async with opened() as client:
        reply = await client.kill("long", cascade=True)

        assert 21 == len(reply["killed"])
        assert all(len(agent.committed.conversation.entries) <= LOADED for agent in client.registry.live())


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "many", "clear", "undo", "clone", "kill", "revive", "replay", "evict", "fail", "shrink"]
        ),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=30,
)


async def _take(client: DirectClient, what: str, name: str) -> None:
    """Do one step; what the rules refuse changes nothing."""
    registry, agent = client.registry, client.registry.get(name)
    if what == "evict":
        registry.residency.evict_idle(keep=1)
    elif what == "fail" and agent is not None:
        agent.crash(ValueError("a test"), [])
    elif what == "shrink" and agent is not None and agent.idle:
        agent.shrink()
    elif what == "many":
        await client.add(name, *["words " * 20] * 600, create=True)
    elif what == "add":
        await client.add(name, "words " * 20, create=True)
    elif what not in ("fail", "shrink"):
        await getattr(client, what)(name)


@given(STEPS)
@example([("add", "a"), ("many", "a"), ("many", "a"), ("shrink", "a")])
@settings(max_examples=25)
def test_what_all_agents_take(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]) -> None:
    """The total that is kept is the sum over the live agents, whatever they do, and however they leave."""
    file = empty_database(tmp_path_factory.mktemp("total") / "reel.db")

    async def run() -> None:
        async with open_store(file) as store, anyio.create_task_group() as tasks:
            client = DirectClient(Registry(store, tasks, memory=1 << 18), tasks)
            for what, name in steps:
                with suppress(ReelError):
                    await _take(client, what, name)
                await wait_all_tasks_blocked()  # until what has failed is dropped
                for settle in (
                    anyio.lowlevel.checkpoint,
                    partial(drain, client.registry),
                ):  # a drained agent counts again
                    await settle()
                    live = client.registry.live()
                    held = sum(agent.committed.conversation.size for agent in live if agent.live.state is not None)
                    assert held == client.registry.residency.size
            tasks.cancel_scope.cancel()

    trio.run(run)
