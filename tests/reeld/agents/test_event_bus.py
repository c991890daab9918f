"""Who hears of what: every event once, in the order of the commits."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from reeld.agents.agent import Agent
from reeld.agents.event_bus import CommittedEvent, EventBus, Writer
from reeld.core.conversation import Extent
from reeld.core.state import Profile
from tests.reeld.agents.direct_client import DirectClient
from tests.reeld.core.memory import profile


class Ear:
    """A follower that notes what it hears."""

    def __init__(self, connection: int | None = 1) -> None:
        self.connection = connection
        self.news: list[CommittedEvent] = []
        self.forgot: list[int] = []

    def on_event(self, news: CommittedEvent) -> None:
        self.news.append(news)

    def on_reset(self, profile: Profile) -> None:
        self.forgot.append(profile.row)

    def on_draft(self, profile: Profile, writer: Writer, text: str) -> None: ...

    @property
    def shapes(self) -> list[tuple[str, Extent, Extent]]:
        """What each event did."""
        return [(news.event.kind, news.kept, news.extent) for news in self.news]


@pytest.fixture
def ear(client: DirectClient) -> Ear:
    """Somebody who follows all."""
    ear = Ear()
    client.registry.bus.subscribe(ear, None)
    return ear


async def test_ids_ascend_over_all_agents(client: DirectClient, ear: Ear) -> None:
    """Commands that take a turn, or touch many agents, are heard among the adds of others in the order of their ids."""
    agents = ["a", "b", "c"]
    for name in agents:
        await client.create(name)

    async def write(name: str) -> None:
        for number in range(15):
            await client.add(name, "x", "y")
            await client.mark(name, "here")
            await client.add(name, "z")
            await client.rewind(name, "here")
            await client.undo(name)
            if number % 5 == 0:
                await client.clear(name)
                await client.clone(name, f"{name}-{number}")

    async def overwrite() -> None:
        for _ in range(10):
            await client.clone_into("a", "d")
            await client.kill("b", cascade=True)
            await client.revive("b")

    await client.create("d")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, "a")
        tasks.start_soon(write, "c")
        tasks.start_soon(overwrite)
    ids = [news.event_id for news in ear.news]

    assert [*range(1, len(ids) + 1)] == ids
    assert ids[-1] == client.registry.bus.newest == (await client.store.totals())["newest_event"]


async def test_newest(client: DirectClient) -> None:
    """The newest id is known whether anybody follows or not."""
    newest = []
    acts: list[Callable[[], Awaitable[Any]]] = [
        lambda: client.create("a", "be brief"),
        lambda: client.add("a", "x", "y"),
        lambda: client.clone("a", "b"),
        lambda: client.add("new", "x", create=True),
        lambda: client.kill("a", cascade=True),
    ]
    for act in acts:
        await act()
        newest.append(client.registry.bus.newest)

    assert [2, 4, 5, 7, 9] == newest


async def test_new_agents(client: DirectClient, ear: Ear) -> None:
    """What makes an agent is heard with what it did: created, added to at once, cloned."""
    await client.create("a", "be brief")
    await client.add("b", "x", create=True)
    await client.add("a", "y")
    await client.clone("a", "c")
    await client.clone("a", "d", at=2)
    await client.add("c", "z")

    assert [
        ("created", (0, 0), (0, 0)),
        ("system", (0, 0), (1, 0)),
        ("created", (0, 0), (0, 0)),
        ("user", (0, 0), (1, 1)),
        ("user", (1, 0), (2, 1)),
        ("clone", (0, 0), (2, 1)),
        ("clone", (0, 0), (1, 0)),
        ("user", (2, 1), (3, 2)),
    ] == ear.shapes
    assert ["a", "a", "b", "b", "a", "c", "d", "c"] == [news.profile.name for news in ear.news]
    assert [] == (await client.texts("b"))[1:]


async def test_one_agent(client: DirectClient) -> None:
    """Who follows one agent hears of no other, and of nothing when it has left."""
    ear = Ear()
    await client.create("a")
    await client.create("b")
    client.registry.bus.subscribe(ear, 1)
    await client.add("a", "x")
    await client.add("b", "x")
    client.registry.bus.unsubscribe(ear, 1)
    client.registry.bus.unsubscribe(ear, 1)
    await client.add("a", "x")

    assert [("user", (0, 0), (1, 1))] == ear.shapes


async def test_a_follower_that_raises(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """Who cannot be told harms nobody: the command is done, and the next follower hears."""

    class Deaf(Ear):
        def on_event(self, _: CommittedEvent) -> None:
            raise RuntimeError

    await client.create("a")
    for follower in (deaf := Deaf(), ear := Ear()):
        client.registry.bus.subscribe(follower, 1)
    await client.add("a", "x")

    assert ([], 1, ["x"]) == (deaf.news, len(ear.news), await client.texts("a"))
    assert ["agent=a event=2 could not be told"] == [record.getMessage() for record in caplog.records]


async def test_a_mended_state(client: DirectClient, ear: Ear) -> None:
    """Who follows hears that the living state was replaced, or dropped after a bug."""
    await client.create("a")
    await client.add("a", "x")
    (await client.state("a")).conversation.cut(None)
    assert not (await client.replay("a")).matched
    agent: Agent = await client.registry.find("a")
    agent.crash(RuntimeError("a bug"), [])

    assert [1, 1] == ear.forgot


def test_attached() -> None:
    """Connections are counted once each, and only those that follow this very agent."""
    bus = EventBus(7)
    for follower, row in ((Ear(1), 1), (Ear(1), 1), (Ear(2), 1), (Ear(None), 1), (Ear(3), None), (Ear(4), 2)):
        bus.subscribe(follower, row)

    assert [2, 1, 0] == [bus.attached(row) for row in (1, 2, 3)]
    assert [True, True] == [bus.has_subscribers(row) for row in (1, 3)]
    assert 7 == bus.newest
    bus.reset(profile(3))
