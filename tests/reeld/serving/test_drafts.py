"""Drafts without a connection: which subscribers get them, and how often. The clock is virtual."""

# ruff: noqa: ARG001 - pytest-trio takes a clock from a test's own parameters

from itertools import pairwise
from typing import Any

import anyio
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import Busy
from reeld.agents.event_bus import EventBus, Typist, Whose
from reeld.serving.drafts import MAX_ALL, MAX_DRAFT, MAX_DRAFTS, Drafts
from tests.reeld.agents.silent_subscriber import SilentSubscriber
from tests.reeld.core.memory import profile

ONE, TWO = profile(1), profile(2)
TEXTS = st.sampled_from(["", "a", "longer"])


def by(connection: int) -> Typist:
    """Return a writer without a name."""
    return Typist(connection, None)


class RecordingSubscriber(SilentSubscriber):
    """A subscriber that records drafts with their time."""

    def __init__(self, connection: int | None = 9) -> None:
        super().__init__(connection)
        self.seen: list[tuple[float, int, int, str]] = []

    @property
    def texts(self) -> list[str]:
        """Return the texts that were shown."""
        return [text for *_, text in self.seen]

    def on_draft(self, whose: Whose, writer: Typist, text: str) -> None:
        self.seen.append((trio.current_time(), whose.row, writer.connection, text))


@pytest.fixture
def bus() -> EventBus:
    """An event bus."""
    return EventBus(0, lambda *_: pytest.fail("nobody is told later"))


@pytest.fixture
async def drafts(bus: EventBus, nursery: trio.Nursery) -> Drafts:
    """Drafts with their task running."""
    drafts = Drafts(bus)
    nursery.start_soon(drafts.run)
    return drafts


@pytest.fixture
def subscriber(bus: EventBus) -> RecordingSubscriber:
    """A subscriber to the first agent."""
    subscriber = RecordingSubscriber()
    bus.subscribe(subscriber, 1)
    return subscriber


async def test_a_burst_is_thinned_out(
    drafts: Drafts, subscriber: RecordingSubscriber, autojump_clock: trio.testing.MockClock
) -> None:
    """At most thirty texts a second are shown, the first at once and the last always."""
    for number in range(1001):
        drafts.write(by(1), ONE, str(number))
        await anyio.sleep(0.001)
    await anyio.sleep(1)
    times = [time for time, *_ in subscriber.seen]

    assert ("0", "1000") == (subscriber.texts[0], subscriber.texts[-1])
    assert 30 <= len(times) <= 32
    assert min(later - earlier for earlier, later in pairwise(times)) >= 1 / 30 - 1e-9


async def test_writing_and_wiping_is_thinned_out_as_well(
    drafts: Drafts, subscriber: RecordingSubscriber, autojump_clock: trio.testing.MockClock
) -> None:
    """An empty text counts as a text: a draft that comes and goes is shown no more often than one that grows."""
    for _ in range(500):
        for text in ("x", ""):
            drafts.write(by(1), ONE, text)
            await anyio.sleep(0.001)
    await anyio.sleep(1)
    times = [time for time, *_ in subscriber.seen]

    assert len(times) <= 32
    assert "" == subscriber.texts[-1]
    assert all(earlier != later for earlier, later in pairwise(subscriber.texts))


async def test_each_draft_has_its_own_pace(
    drafts: Drafts, subscriber: RecordingSubscriber, bus: EventBus, autojump_clock: trio.testing.MockClock
) -> None:
    """Two writers do not slow each other down; nor does one that writes to two agents."""
    bus.subscribe(subscriber, 2)
    for number in range(100):
        for connection, agent in ((1, ONE), (2, ONE), (1, TWO)):
            drafts.write(by(connection), agent, str(number))
        await anyio.sleep(0.001)
    await anyio.sleep(1)
    seen = {key: [text for _, *at, text in subscriber.seen if at == [*key]] for key in ((1, 1), (1, 2), (2, 1))}

    assert [("0", "99")] * 3 == [(texts[0], texts[-1]) for texts in seen.values()]
    assert {4} == set(map(len, seen.values()))


async def test_a_text_takes_the_room_of_the_one_before(drafts: Drafts) -> None:
    """If all drafts together are at their limit, each of them can still be replaced by one as long."""
    for connection in range(MAX_ALL // MAX_DRAFT):
        drafts.write(by(connection), ONE, "a" * MAX_DRAFT)
    drafts.write(by(0), ONE, "b" * MAX_DRAFT)

    with pytest.raises(Busy):
        drafts.write(by(99), ONE, "c")


async def test_the_end_comes_at_once(
    drafts: Drafts, subscriber: RecordingSubscriber, autojump_clock: trio.testing.MockClock
) -> None:
    """The end is shown at once, and a text that was not shown by then never is."""
    drafts.write(by(1), ONE, "a")
    drafts.write(by(1), ONE, "b")
    drafts.end(1, 1)
    assert ["a", ""] == subscriber.texts
    await anyio.sleep(1)

    assert ["a", ""] == subscriber.texts


async def test_what_nobody_saw_does_not_end(
    drafts: Drafts, subscriber: RecordingSubscriber, autojump_clock: trio.testing.MockClock
) -> None:
    """Ending a draft that was never shown, or has ended, shows nothing."""
    drafts.end(1, 1)
    drafts.write(by(1), ONE, "")
    drafts.write(by(1), ONE, "a")
    drafts.end(1, 1)
    drafts.end(1, 1)
    drafts.end_all(1)
    await anyio.sleep(1)

    assert ["a", ""] == subscriber.texts


async def test_a_draft_after_the_end(
    drafts: Drafts, subscriber: RecordingSubscriber, autojump_clock: trio.testing.MockClock
) -> None:
    """A draft that goes on after an add is shown again."""
    drafts.write(by(1), ONE, "a")
    drafts.end(1, 1)
    drafts.write(by(1), ONE, "b")
    await anyio.sleep(1)
    drafts.write(by(1), ONE, "c")

    assert ["a", "", "b", "c"] == subscriber.texts


async def test_the_end_of_a_connection(
    drafts: Drafts, subscriber: RecordingSubscriber, bus: EventBus, autojump_clock: trio.testing.MockClock
) -> None:
    """All drafts of a connection end with it, and no others."""
    bus.subscribe(subscriber, 2)
    for connection, agent in ((1, ONE), (1, TWO), (2, ONE)):
        drafts.write(by(connection), agent, "x")
    drafts.end_all(1)
    await anyio.sleep(1)
    late = RecordingSubscriber(8)
    drafts.show_to(late, None)

    assert [(1, 1, ""), (2, 1, "")] == [tuple(seen) for _, *seen in subscriber.seen[3:]]
    assert [(1, 2, "x")] == [tuple(seen) for _, *seen in late.seen]


async def test_a_draft_reaches_every_other_connection_once(
    drafts: Drafts, bus: EventBus, autojump_clock: trio.testing.MockClock
) -> None:
    """Every other connection that follows gets a draft once; its writer and subscribers without one do not."""
    one, again, every, own, nobody, other = (RecordingSubscriber(each) for each in (9, 9, 8, 1, None, 7))
    for follower, row in ((one, 1), (again, None), (every, None), (own, 1), (nobody, 1), (other, 2)):
        bus.subscribe(follower, row)
    drafts.write(by(1), ONE, "x")

    assert [["x"], [], ["x"], [], [], []] == [each.texts for each in (one, again, every, own, nobody, other)]


@pytest.mark.parametrize(("connection", "row", "texts"), [(9, 1, ["x"]), (9, None, ["x"]), (1, 1, []), (9, 2, [])])
async def test_a_new_subscriber_gets_the_drafts(
    drafts: Drafts, connection: int, row: int | None, texts: list[str]
) -> None:
    """A new subscriber gets the current drafts of what it follows, unless it is the writer."""
    drafts.write(by(1), ONE, "x")
    late: Any = RecordingSubscriber(connection)
    drafts.show_to(late, row)

    assert texts == late.texts


@pytest.mark.parametrize("last", ["", "a"])
async def test_a_newcomer_sees_what_the_others_see(
    drafts: Drafts, bus: EventBus, autojump_clock: trio.testing.MockClock, last: str
) -> None:
    """A text that waits until it is shown is not shown to a new subscriber alone: it might be replaced unseen."""
    drafts.write(by(1), ONE, "a")
    if not last:
        drafts.end(1, 1)
    drafts.write(by(1), ONE, "soon after")
    newcomer = RecordingSubscriber()
    bus.subscribe(newcomer, 1)
    drafts.show_to(newcomer, 1)
    drafts.write(by(1), ONE, last)
    await anyio.sleep(1)

    assert [last] * bool(last) == newcomer.texts


async def test_ended_drafts_are_not_shown_to_newcomers(drafts: Drafts) -> None:
    """A draft that has just ended is not shown to new subscribers."""
    drafts.write(by(1), ONE, "x")
    drafts.end(1, 1)
    late = RecordingSubscriber()
    drafts.show_to(late, 1)

    assert [] == late.texts


async def test_nothing_is_kept(drafts: Drafts, autojump_clock: trio.testing.MockClock) -> None:
    """Drafts leave nothing behind, however they ended."""
    for row in range(1, 100):
        drafts.write(by(1), profile(row), "x")
        drafts.end(1, row) if row % 2 else drafts.write(by(1), profile(row), "")
        await anyio.sleep(0.1)
    await anyio.sleep(1)

    assert not drafts._drafts
    assert not drafts._due


@given(
    st.lists(
        st.tuples(st.sampled_from(["write", "end", "end_all", "forget"]), st.integers(1, 3), st.integers(1, 3), TEXTS)
    )
)
def test_what_all_drafts_take(steps: list[tuple[str, int, int, str]]) -> None:
    """The totals that are kept are the sums over the drafts that are shown to a new subscriber."""
    bus = EventBus(0, lambda *_: pytest.fail("nobody is told later"))
    drafts, texts = Drafts(bus), dict[tuple[int, int], str]()

    async def run() -> None:
        for what, connection, row, text in steps:
            if what == "write":
                drafts.write(by(connection), profile(row), text)
                texts[connection, row] = text
            elif what == "end":
                drafts.end(connection, row)
                texts.pop((connection, row), None)
            elif what == "end_all":
                drafts.end_all(connection)
                for key in [key for key in texts if key[0] == connection]:
                    del texts[key]
            else:
                drafts.forget({row}, lambda _: True)
                for key in [key for key in texts if key[1] == row]:
                    del texts[key]
            left = [each for each in texts.values() if each]
            assert (sum(map(len, left)), len(left)) == (drafts.characters, len(drafts))

    trio.run(run)


async def test_as_many_drafts_as_a_connection_may_have(drafts: Drafts) -> None:
    """A connection at its limit may change its drafts, and begin another one when one of them has ended."""
    for row in range(1, MAX_DRAFTS + 1):
        drafts.write(by(1), profile(row), "a")
    drafts.write(by(1), profile(1), "b")
    drafts.write(by(2), profile(1), "c")
    with pytest.raises(Busy):
        drafts.write(by(1), profile(MAX_DRAFTS + 1), "a")
    drafts.write(by(1), profile(1), "")
    drafts.write(by(1), profile(MAX_DRAFTS + 1), "a")

    assert MAX_DRAFTS + 1 == len(drafts)
