"""What daemons tell each other of drafts and followers, over a channel in memory. The clock is virtual."""

# ruff: noqa: ARG001 - pytest-trio takes a clock from a test's own parameters

import json
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack import packb, unpackb

from reel.base.values import clean, has_large_number
from reeld.agents.event_bus import EventBus, Typist
from reeld.serving import neighbour_states
from reeld.serving.drafts import MAX_ALL, Drafts
from reeld.serving.neighbour_states import MOST_DAEMONS, MOST_DRAFTS, MOST_FOLLOWED
from reeld.serving.neighbours import Neighbours
from tests.reeld.core.memory import profile
from tests.reeld.serving.test_drafts import RecordingSubscriber

ONE, TWO = profile(1), profile(2)
# Seconds until what was said has been heard, and until who says nothing is forgotten.
SOON, LATE = 0.5, 10


class Wire:
    """Where all daemons hear what any of them says."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.ends: list[End] = []


class End:
    """The end of a wire at one daemon; it may be cut off."""

    def __init__(self, wire: Wire, daemon: int) -> None:
        self.daemon = daemon
        self.on_open: Callable[[None], None] = lambda _: None
        self.on_text: Callable[[str], None] = lambda _: None
        self.on_missed: Callable[[None], None] = lambda _: None
        self.is_cut = False
        self._wire = wire
        wire.ends.append(self)

    def call(
        self, on_open: Callable[[None], None], on_text: Callable[[str], None], on_missed: Callable[[None], None]
    ) -> None:
        self.on_open, self.on_text, self.on_missed = on_open, on_text, on_missed

    async def send(self, texts: Sequence[str]) -> None:
        await anyio.sleep(0.001)
        if not self.is_cut:
            for text in texts:
                assert len(text.encode()) < 8000
                self._wire.said.append(text)
                for end in self._wire.ends:
                    if not end.is_cut:
                        end.on_text(text)


class Daemon:
    """What a daemon knows of drafts and followers."""

    def __init__(self, wire: Wire, number: int, nursery: trio.Nursery) -> None:
        self.bus = EventBus(0, lambda *_: pytest.fail("nobody is told later"))
        self.drafts = Drafts(self.bus)
        self.end = End(wire, number)
        self.neighbours = Neighbours(self.end, self.bus, self.drafts)
        self.scope = trio.CancelScope()
        nursery.start_soon(self.drafts.run)
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        with self.scope:
            await self.neighbours.run()

    def follow(self, connection: int = 9) -> RecordingSubscriber:
        """Follow an agent."""
        follower = RecordingSubscriber(connection)
        self.bus.subscribe(follower, ONE.row)
        return follower

    def type(self, text: str, connection: int = 1) -> None:
        """Write a draft."""
        self.drafts.write(Typist(connection, "emacs"), ONE, text)


@pytest.fixture
def wire() -> Wire:
    """A wire."""
    return Wire()


@pytest.fixture
async def daemons(wire: Wire, nursery: trio.Nursery) -> list[Daemon]:
    """Three daemons that have heard of each other."""
    made = [Daemon(wire, number, nursery) for number in (1, 2, 3)]
    await anyio.sleep(SOON)
    wire.said.clear()
    return made


async def test_a_draft_is_shown_everywhere(daemons: list[Daemon], autojump_clock: trio.testing.MockClock) -> None:
    """Followers at other daemons see a text grow and end, from a connection whose number no own one has."""
    follower, other = daemons[1].follow(), daemons[2].follow()
    for text in ("He", "Hello", "Hello, you"):
        daemons[0].type(text)
        await anyio.sleep(SOON)
    daemons[0].drafts.end(1, ONE.row)
    await anyio.sleep(SOON)

    assert ["He", "Hello", "Hello, you", ""] == follower.texts == other.texts
    assert {(1 << 32) + 1} == {connection for _, _, connection, _ in follower.seen}


async def test_whoever_comes_later_sees_it(
    daemons: list[Daemon], wire: Wire, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """A follower that comes later sees the present text, and so do the followers at a daemon that starts later."""
    daemons[0].type("Hello")
    late = Daemon(wire, 4, nursery)
    await anyio.sleep(SOON)
    for daemon in (daemons[1], late):
        daemon.drafts.show_to(follower := daemon.follow(), ONE.row)

        assert ["Hello"] == follower.texts
        assert {ONE.row: ["emacs"]} == daemon.drafts.writers()


async def test_followers_are_counted_everywhere(daemons: list[Daemon], autojump_clock: trio.testing.MockClock) -> None:
    """Each daemon knows how many follow an agent at all of them."""
    first = daemons[0].follow()
    daemons[1].follow(1)
    daemons[1].follow(2)
    await anyio.sleep(SOON)
    assert [3, 3, 3] == [daemon.bus.attached(ONE.row) for daemon in daemons]
    daemons[0].bus.unsubscribe(first, ONE.row)
    await anyio.sleep(SOON)
    assert [2, 2, 2] == [daemon.bus.attached(ONE.row) for daemon in daemons]


@pytest.mark.parametrize("how", ["stops", "is killed"])
async def test_a_daemon_goes(daemons: list[Daemon], how: str, autojump_clock: trio.testing.MockClock) -> None:
    """The drafts and followers of a daemon that stops are gone at once, those of one that was killed within seconds."""
    follower = daemons[1].follow()
    daemons[0].follow()
    daemons[0].type("Hello")
    await anyio.sleep(SOON)
    assert 2 == daemons[1].bus.attached(ONE.row)
    daemons[0].end.is_cut = how == "is killed"
    daemons[0].scope.cancel()
    await anyio.sleep(SOON if how == "stops" else LATE)

    assert ["Hello", ""] == follower.texts
    assert 1 == daemons[1].bus.attached(ONE.row)


async def test_a_daemon_that_lives_is_not_forgotten(
    daemons: list[Daemon], wire: Wire, autojump_clock: trio.testing.MockClock
) -> None:
    """What does not change stays, however long; who has nothing to show says nothing."""
    follower = daemons[1].follow()
    daemons[0].type("Hello")
    await anyio.sleep(1000)

    assert ["Hello"] == follower.texts
    assert {1, 2} == {json.loads(said)[1] for said in wire.said}


async def test_a_daemon_that_was_cut_off(daemons: list[Daemon], autojump_clock: trio.testing.MockClock) -> None:
    """A daemon that was cut off forgets the others and is forgotten; when it is back all are told what is new."""
    there, here = daemons[1].follow(), daemons[0].follow()
    daemons[0].type("Hello")
    daemons[1].type("Bye", 5)
    await anyio.sleep(SOON)
    daemons[0].end.is_cut = True
    await anyio.sleep(LATE)
    assert 1 == daemons[0].bus.attached(ONE.row) == daemons[1].bus.attached(ONE.row)
    daemons[0].type("Hello again")
    daemons[1].type("Bye, bye", 5)
    daemons[0].end.is_cut = False
    daemons[0].end.on_open(None)
    await anyio.sleep(SOON)

    assert ["Hello", "", "Hello again"] == [text for text in there.texts if "Bye" not in text]
    assert ["Bye", "", "Bye, bye"] == [text for text in here.texts if "Hello" not in text]
    assert 2 == daemons[0].bus.attached(ONE.row) == daemons[1].bus.attached(ONE.row)


async def test_a_daemon_that_hung(daemons: list[Daemon], autojump_clock: trio.testing.MockClock) -> None:
    """A daemon whose words were lost without its knowing is asked for everything by who hears it again."""
    there = daemons[1].follow()
    daemons[0].follow()
    daemons[0].type("Hello")
    await anyio.sleep(SOON)
    daemons[0].end.is_cut = True
    await anyio.sleep(LATE)
    daemons[0].end.is_cut = False
    daemons[0].type("Hello again")
    await anyio.sleep(LATE)

    assert ["Hello", "", "Hello again"] == there.texts
    assert 2 == daemons[1].bus.attached(ONE.row)


async def test_a_fast_stream(daemons: list[Daemon], wire: Wire, autojump_clock: trio.testing.MockClock) -> None:
    """A stream of a thousand pieces a second becomes thirty messages, each with what is new."""
    follower = daemons[1].follow()
    wire.said.clear()
    text = ""
    for _ in range(1000):
        text += "word "
        daemons[0].type(text)
        await anyio.sleep(0.001)
    await anyio.sleep(SOON)

    drafts = [said for said in wire.said if said.startswith('["draft"')]
    assert 10 < len(drafts) < 40
    assert sum(map(len, drafts)) < 2 * len(text)
    assert text == follower.texts[-1]


@given(st.lists(st.text(max_size=30).map(lambda text: clean(text)[0] * 300), max_size=6))
@example(["\1" * 9000, "\1" * 9000 + "a", "\U0001f600" * 9000, "", '"' * 8000])
def test_any_text(texts: list[str]) -> None:
    """Whatever the texts are, others see each of them whole, and only whole ones."""

    async def run() -> None:
        wire = Wire()
        async with trio.open_nursery() as nursery:
            one, two = Daemon(wire, 1, nursery), Daemon(wire, 2, nursery)
            follower = two.follow()
            for text in texts:
                one.type(text)
                await anyio.sleep(SOON)
            nursery.cancel_scope.cancel()
        wanted = [text for text, before in zip(texts, ["", *texts], strict=False) if text != before]
        assert wanted == follower.texts[: len(wanted)]

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


# What others could say: kinds of today and of tomorrow, with what belongs to them and with anything else.
numbers = st.integers(0, 3) | st.sampled_from([-1, 1 << 32, 1 << 53, 10**22, -(10**22), True, 1.5, 1e300])
said_texts = st.sampled_from(["", ONE.uid, "Hi", "Hello", "\ud83d", "\0", "x" * 9000]) | st.text(max_size=5)
anything = st.recursive(
    numbers | said_texts | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(said_texts, inner)
)
kinds = st.sampled_from(["hello", "ask", "all", "draft", "followers", "alive", "bye", "newer"])
tails = (
    st.tuples(numbers, numbers, said_texts, said_texts | st.none(), numbers, said_texts, st.booleans())
    | st.tuples(st.lists(st.tuples(numbers, numbers) | anything, max_size=3))
    | st.just(())
)
messages = (
    st.builds(
        lambda kind, daemon, tail, more: json.dumps([kind, daemon, *tail, *more]),
        kinds, st.just(3) | numbers, tails, st.just([]) | st.lists(anything, max_size=2),
    )
    | anything.map(json.dumps)
    | st.text(max_size=9)
    | st.sampled_from(["[" * 7000, '{"a":' * 1500, "1" * 7000, '["draft",3,', "NaN", '["all",NaN]'])
)  # fmt: skip


@given(st.lists(messages, max_size=12), st.integers(1, 3))
@example(['["all",77]', f'["draft",77,{10**22},1,"u",null,0,"Hi",true]'], 1)
@example(['["all",77]', f'["draft",77,1,{10**22},"u",null,0,"Hi",true]'], 1)
@example(['["all",77]', '["draft",77,1,1,"u","\\ud83d",0,"\\ud83d",true]'], 1)
@example(['["all",77,"newer"]', '["draft",77,1,1,"u",null,0,"Hi",true,{"newer":1}]', '["hello",77,2]'], 1)
def test_whatever_is_said(said: list[str], times: int) -> None:
    """A message that is malformed, newer or repeated does no harm, whoever sent it: drafts are shown, and can be sent.

    What a daemon that does not exist is said to have is gone after seconds.
    """
    left: list[Any] = []

    async def run() -> None:
        wire = Wire()
        async with trio.open_nursery() as nursery:
            one, two = Daemon(wire, 1, nursery), Daemon(wire, 2, nursery)
            follower = two.follow()
            await anyio.sleep(SOON)
            for text in said * times:
                two.end.on_text(text)
                _require_plain(follower.texts, two.drafts.writers(), two.bus.attached(ONE.row))
            one.type("really")
            await anyio.sleep(LATE)
            left.append(("really" in follower.texts, two.drafts.writers(), two.bus.attached(ONE.row)))
            nursery.cancel_scope.cancel()

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))

    ((shown, writers, attached),) = left
    assert (True, {ONE.row: ["emacs"]}, 1) == (shown, {ONE.row: writers.get(ONE.row)}, attached)


@pytest.mark.parametrize(
    "said",
    [
        '["bye",true]',
        '["followers",77,[[1,true]]]',
        '["followers",77,[[true,1]]]',
        '["draft",77,true,1,"u",null,0,"Hi",true]',
        '["draft",77,1,true,"u",null,0,"Hi",true]',
        '["draft",77,1,1,"u",null,false,"Hi",true]',
    ],
)
async def test_true_is_no_number(daemons: list[Daemon], autojump_clock: trio.testing.MockClock, said: str) -> None:
    """JSON's true and false, which Python takes for 1 and 0, are no daemon, connection, agent, place or count."""
    one, two, _ = daemons
    one.type("really")
    await anyio.sleep(SOON)
    two.end.on_text('["all",77]')
    two.end.on_text(said)

    assert ({ONE.row: ["emacs"]}, 0) == (two.drafts.writers(), two.bus.attached(ONE.row))


def _require_plain(*values: Any) -> None:
    """Fail if a value cannot be sent to every client."""
    for value in values:
        assert value == unpackb(packb(value), strict_map_key=False)
        assert not has_large_number(value)


FLOODS = {
    "drafts": [f'["draft",77,{number},1,"u",null,0,"{"x" * 20}",true]' for number in range(11_000)],
    "pieces": [f'["draft",77,{number},1,"u",null,0,"{"x" * 7700}",false]' for number in range(3000)],
    "followers": [
        f'["followers",77,{[[row, 1] for row in range(first, first + 500)]}]' for first in range(1, 120_000, 500)
    ],
    "daemons": [
        said for number in range(78, 2000) for said in (f'["all",{number}]', f'["followers",{number},[[1,1]]]')
    ],
    "idle daemons": [f'["all",{number}]' for number in range(78, 2000)],
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_an_endless_state(daemons: list[Daemon], flood: str, autojump_clock: trio.testing.MockClock) -> None:
    """What others are said to have has limits, in number and in characters; later there is room for true ones."""
    one, two, _ = daemons
    states = two.neighbours.states
    two.end.on_text('["all",77]')
    for said in FLOODS[flood]:
        two.end.on_text(said)
        assert len(states) <= MOST_DAEMONS
        assert states.drafts <= MOST_DRAFTS
        assert states.characters <= MAX_ALL
        assert states.followed <= MOST_FOLLOWED
    await anyio.sleep(LATE)
    one.type("really")
    one.follow()
    await anyio.sleep(LATE)

    assert {ONE.row: ["emacs"]} == two.drafts.writers()
    assert 1 == two.bus.attached(ONE.row)
    assert (1, 6, 1) == (states.drafts, states.characters, states.followed)


async def test_what_there_is_no_room_for_is_not_asked_for(
    daemons: list[Daemon], wire: Wire, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Who has no room for a draft does not ask for everything with each piece that this one gets."""
    monkeypatch.setattr(neighbour_states, "MOST_DRAFTS", 1)
    daemons[1].end.on_text('["all",77]')
    for connection, place in ((1, 0), (2, 0), (2, 2)):
        daemons[1].end.on_text(f'["draft",77,{connection},1,"u",null,{place},"Hi",true]')
    await anyio.sleep(2)

    assert [] == [said for said in wire.said if json.loads(said)[0] == "ask"]


async def test_what_was_missed_is_asked_for(daemons: list[Daemon], autojump_clock: trio.testing.MockClock) -> None:
    """A daemon that could not take all that was said asks for everything, also if it has asked just before."""
    one, two, _ = daemons
    follower = two.follow()
    two.end.on_missed(None)
    await anyio.sleep(0.1)
    two.end.is_cut = True
    one.type("Hello")
    await anyio.sleep(0.1)
    two.end.is_cut = False
    two.end.on_missed(None)
    await anyio.sleep(2)

    assert ["Hello"] == follower.texts
