"""The event bus: every subscriber gets every event once, in the order of the commits."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from reeld.agents.agent import Agent
from reeld.agents.event_bus import CommittedEvent, EventBus, Whose
from reeld.core.events import Event
from reeld.core.milestones import Extent
from reeld.store import queries
from tests.reeld.agents.direct_client import DirectClient
from tests.reeld.agents.silent_subscriber import SilentSubscriber
from tests.reeld.core.memory import profile


class RecordingSubscriber(SilentSubscriber):
    """A subscriber that records what it gets."""

    def __init__(self, connection: int | None = 1) -> None:
        super().__init__(connection)
        self.events: list[CommittedEvent] = []
        self.resets: list[int] = []

    def on_event(self, committed: CommittedEvent) -> None:
        self.events.append(committed)

    def on_reset(self, whose: Whose) -> None:
        self.resets.append(whose.row)

    @property
    def shapes(self) -> list[tuple[str, Extent, Extent]]:
        """Return what each event did."""
        return [(committed.event.kind, committed.kept, committed.extent) for committed in self.events]


@pytest.fixture
def subscriber(client: DirectClient) -> RecordingSubscriber:
    """A subscriber to all agents."""
    subscriber = RecordingSubscriber()
    client.registry.bus.subscribe(subscriber, None)
    return subscriber


async def test_ids_ascend_over_all_agents(client: DirectClient, subscriber: RecordingSubscriber) -> None:
    """Commands that hold agents, or touch many, publish their events in the order of ids, amid the adds of others."""
    for name in ("a", "b", "c", "d"):
        await client.create(name)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, client, "a")
        tasks.start_soon(_write, client, "c")
        tasks.start_soon(_overwrite, client)
    ids = [event.event_id for event in subscriber.events]

    assert [*range(1, len(ids) + 1)] == ids
    assert ids[-1] == client.registry.bus.newest == (await client.store.read(queries.totals))["newest_event"]


async def _write(client: DirectClient, name: str) -> None:
    """Run commands on one agent, and clone it now and then."""
    for number in range(15):
        await client.add(name, "x", "y")
        await client.mark(name, "here")
        await client.add(name, "z")
        await client.rewind(name, "here")
        await client.undo(name)
        if number % 5 == 0:
            await client.clear(name)
            await client.clone(name, f"{name}-{number}")


async def _overwrite(client: DirectClient) -> None:
    """Run commands that touch several agents."""
    for _ in range(10):
        await client.clone_into("a", "d")
        await client.kill("b", cascade=True)
        await client.revive("b")


async def test_the_newest_id_is_known_without_subscribers(client: DirectClient) -> None:
    """The newest id is known whether or not anybody subscribes."""
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


async def test_new_agents(client: DirectClient, subscriber: RecordingSubscriber) -> None:
    """A new agent's events say what they did, however it was made: created, added to at once, cloned."""
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
    ] == subscriber.shapes
    assert ["a", "a", "b", "b", "a", "c", "d", "c"] == [event.profile.name for event in subscriber.events]
    assert [] == (await client.texts("b"))[1:]


async def test_a_subscriber_to_one_agent(client: DirectClient) -> None:
    """A subscriber to one agent gets no other agent's events, and nothing after it has left."""
    subscriber = RecordingSubscriber()
    await client.create("a")
    await client.create("b")
    client.registry.bus.subscribe(subscriber, 1)
    await client.add("a", "x")
    await client.add("b", "x")
    client.registry.bus.unsubscribe(subscriber, 1)
    client.registry.bus.unsubscribe(subscriber, 1)
    await client.add("a", "x")

    assert [("user", (0, 0), (1, 1))] == subscriber.shapes


async def test_a_subscriber_that_raises_stops_nobody(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """If a subscriber raises, the command is applied and the next subscriber gets the event."""

    class FailingSubscriber(RecordingSubscriber):
        def on_event(self, _: CommittedEvent) -> None:
            raise RuntimeError

    await client.create("a")
    for each in (failing := FailingSubscriber(), subscriber := RecordingSubscriber()):
        client.registry.bus.subscribe(each, 1)
    await client.add("a", "x")

    assert ([], 1, ["x"]) == (failing.events, len(subscriber.events), await client.texts("a"))
    assert ["a subscriber failed on event=2 of agent=a"] == [record.getMessage() for record in caplog.records]


async def test_a_reset_is_published(client: DirectClient, subscriber: RecordingSubscriber) -> None:
    """A subscriber is told if the live state was replaced, or dropped after a bug."""
    await client.create("a")
    await client.add("a", "x")
    (await client.state("a")).conversation.cut(None)
    assert not (await client.replay("a")).matched
    agent: Agent = await client.registry.find("a")
    agent.crash(RuntimeError("a bug"), [])

    assert [1, 1] == subscriber.resets


def test_attached_counts_connections_of_one_agent() -> None:
    """Each connection that follows this very agent is counted once."""
    bus = EventBus(7, Turns().call_soon)
    for connection, row in ((1, 1), (1, 1), (2, 1), (None, 1), (3, None), (4, 2)):
        bus.subscribe(RecordingSubscriber(connection), row)

    assert [2, 1, 0] == [bus.attached(row) for row in (1, 2, 3)]
    assert [True, True] == [bus.has_subscribers(row) for row in (1, 3)]
    assert 7 == bus.newest
    bus.reset(profile(3))


class Turns:
    """The turns of an event loop, one at a time."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Callable[[None], None], None]] = deque()

    def call_soon(self, function: Callable[[None], None], value: None) -> None:
        self._calls.append((function, value))

    def run_one(self) -> bool:
        """Make the calls that were asked for before; return whether there were any."""
        calls, self._calls = self._calls, deque()
        for function, value in calls:
            function(value)
        return bool(calls)


class Crowd:
    """A bus with many subscribers to all agents."""

    def __init__(self, size: int) -> None:
        self.turns = Turns()
        self.bus = EventBus(0, self.turns.call_soon)
        self.subscribers = [RecordingSubscriber() for _ in range(size)]
        for subscriber in self.subscribers:
            self.bus.subscribe(subscriber, None)

    def publish(self, number: int) -> CommittedEvent:
        event = Event(number, number, "user", "x", None, None, 0, None)
        committed = CommittedEvent(profile(1), number, event, Extent(0, 0), Extent(1, 1))
        self.bus.publish(committed)
        return committed

    @property
    def told(self) -> list[int]:
        """Return how many events each subscriber was told."""
        return [len(subscriber.events) for subscriber in self.subscribers]


@pytest.mark.parametrize("size", [1, 100])
def test_a_few_are_told_at_once(size: int) -> None:
    """A few subscribers are told before publishing returns."""
    crowd = Crowd(size)
    crowd.publish(1)

    assert [1] * size == crowd.told
    assert not crowd.turns.run_one()


def test_many_are_told_in_turns() -> None:
    """Many subscribers are told in turns of the event loop, a hundred in each, and what comes later waits its turn."""
    crowd = Crowd(250)
    events = [crowd.publish(1), crowd.publish(2)]
    sums = [sum(crowd.told)]
    while crowd.turns.run_one():
        sums.append(sum(crowd.told))

    assert [0, 100, 200, 300, 400, 500] == sums
    assert all(events == subscriber.events for subscriber in crowd.subscribers)
    assert [*events, crowd.publish(3)] != crowd.subscribers[0].events
    assert crowd.turns.run_one()


def test_publishing_waits_if_too_many_are_left() -> None:
    """However much is published in one turn, only so much of it waits."""
    crowd = Crowd(3000)
    for number in range(5):
        crowd.publish(number)

    assert 5 * 3000 - 10_000 == sum(crowd.told)


def test_catching_up() -> None:
    """What must not come before an event waits until all have been told; a reset, or events of others."""
    crowd = Crowd(150)
    crowd.publish(1)
    crowd.bus.catch_up()
    told = crowd.told
    crowd.publish(2)
    crowd.bus.reset(profile(1))
    told_again = crowd.told
    crowd.publish(3)
    crowd.bus.tell_elsewhere([1])

    assert ([1] * 150, [2] * 150, [3] * 150) == (told, told_again, crowd.told)
    assert not (crowd.turns.run_one() and crowd.turns.run_one())


def test_one_who_is_told_has_all_told() -> None:
    """Telling somebody may end with telling everybody: nobody is told twice, or not at all."""
    crowd = Crowd(150)

    class Eager(RecordingSubscriber):
        def on_event(self, committed: CommittedEvent) -> None:
            super().on_event(committed)
            crowd.bus.catch_up()

    crowd.subscribers.append(Eager())
    crowd.bus.subscribe(crowd.subscribers[-1], 1)
    crowd.publish(1)
    while crowd.turns.run_one():
        pass

    assert [1] * 151 == crowd.told
