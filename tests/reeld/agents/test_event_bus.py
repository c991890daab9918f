"""Who hears of what: every event once, in the order of the commits."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from reeld.agents.agent import Agent
from reeld.agents.event_bus import Hub, News
from reeld.core.conversation import Extent
from reeld.core.state import Profile
from tests.reeld.agents.deck import Deck
from tests.reeld.core.memory import profile


class Ear:
    """A follower that notes what it hears."""

    def __init__(self, connection: int | None = 1) -> None:
        self.connection = connection
        self.news: list[News] = []
        self.forgot: list[int] = []

    def hear(self, news: News) -> None:
        self.news.append(news)

    def forget(self, profile: Profile) -> None:
        self.forgot.append(profile.row)

    def glimpse(self, profile: Profile, writer: int, text: str) -> None: ...

    @property
    def shapes(self) -> list[tuple[str, Extent, Extent]]:
        """What each event did."""
        return [(news.draft.kind, news.kept, news.extent) for news in self.news]


@pytest.fixture
def ear(deck: Deck) -> Ear:
    """Somebody who follows all."""
    ear = Ear()
    deck.registry.hub.join(ear, None)
    return ear


async def test_ids_ascend_over_all_agents(deck: Deck, ear: Ear) -> None:
    """Commands that take a turn, or touch many agents, are heard among the adds of others in the order of their ids."""
    agents = ["a", "b", "c"]
    for name in agents:
        await deck.create(name)

    async def write(name: str) -> None:
        for number in range(15):
            await deck.add(name, "x", "y")
            await deck.mark(name, "here")
            await deck.add(name, "z")
            await deck.rewind(name, "here")
            await deck.undo(name)
            if number % 5 == 0:
                await deck.clear(name)
                await deck.clone(name, f"{name}-{number}")

    async def overwrite() -> None:
        for _ in range(10):
            await deck.clone_into("a", "d")
            await deck.kill("b", cascade=True)
            await deck.revive("b")

    await deck.create("d")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, "a")
        tasks.start_soon(write, "c")
        tasks.start_soon(overwrite)
    ids = [news.event_id for news in ear.news]

    assert [*range(1, len(ids) + 1)] == ids
    assert ids[-1] == deck.registry.hub.newest == (await deck.store.totals())["newest_event"]


async def test_newest(deck: Deck) -> None:
    """The newest id is known whether anybody follows or not."""
    newest = []
    acts: list[Callable[[], Awaitable[Any]]] = [
        lambda: deck.create("a", "be brief"),
        lambda: deck.add("a", "x", "y"),
        lambda: deck.clone("a", "b"),
        lambda: deck.add("new", "x", create=True),
        lambda: deck.kill("a", cascade=True),
    ]
    for act in acts:
        await act()
        newest.append(deck.registry.hub.newest)

    assert [2, 4, 5, 7, 9] == newest


async def test_new_agents(deck: Deck, ear: Ear) -> None:
    """What makes an agent is heard with what it did: created, added to at once, cloned."""
    await deck.create("a", "be brief")
    await deck.add("b", "x", create=True)
    await deck.add("a", "y")
    await deck.clone("a", "c")
    await deck.clone("a", "d", at=2)
    await deck.add("c", "z")

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
    assert [] == (await deck.texts("b"))[1:]


async def test_one_agent(deck: Deck) -> None:
    """Who follows one agent hears of no other, and of nothing when it has left."""
    ear = Ear()
    await deck.create("a")
    await deck.create("b")
    deck.registry.hub.join(ear, 1)
    await deck.add("a", "x")
    await deck.add("b", "x")
    deck.registry.hub.leave(ear, 1)
    deck.registry.hub.leave(ear, 1)
    await deck.add("a", "x")

    assert [("user", (0, 0), (1, 1))] == ear.shapes


async def test_a_follower_that_raises(deck: Deck, caplog: pytest.LogCaptureFixture) -> None:
    """Who cannot be told harms nobody: the command is done, and the next follower hears."""

    class Deaf(Ear):
        def hear(self, _: News) -> None:
            raise RuntimeError

    await deck.create("a")
    for follower in (deaf := Deaf(), ear := Ear()):
        deck.registry.hub.join(follower, 1)
    await deck.add("a", "x")

    assert ([], 1, ["x"]) == (deaf.news, len(ear.news), await deck.texts("a"))
    assert ["agent=a event=2 could not be told"] == [record.getMessage() for record in caplog.records]


async def test_a_mended_state(deck: Deck, ear: Ear) -> None:
    """Who follows hears that the living state was replaced, or dropped after a bug."""
    await deck.create("a")
    await deck.add("a", "x")
    (await deck.state("a")).conversation.cut(None)
    assert not (await deck.replay("a")).matched
    agent: Agent = await deck.registry.find("a")
    agent.crash(RuntimeError("a bug"), [])

    assert [1, 1] == ear.forgot


def test_attached() -> None:
    """Connections are counted once each, and only those that follow this very agent."""
    hub = Hub(7)
    for follower, row in ((Ear(1), 1), (Ear(1), 1), (Ear(2), 1), (Ear(None), 1), (Ear(3), None), (Ear(4), 2)):
        hub.join(follower, row)

    assert [2, 1, 0] == [hub.attached(row) for row in (1, 2, 3)]
    assert [True, True] == [hub.followed(row) for row in (1, 3)]
    assert 7 == hub.newest
    hub.mended(profile(3))
