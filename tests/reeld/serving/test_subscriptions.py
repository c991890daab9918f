"""Subscriptions over a connection: what is pushed, in which order, how much, and what happens to slow readers.

The store is real, the streams are in memory; a push that was queued before an answer comes before it.
"""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteStream
from msgpack import Unpacker
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import Busy, InvalidParams, NotFound
from reeld.agents.event_bus import CommittedEvent
from reeld.serving.call import Services
from reeld.serving.flow import Limits
from reeld.store.transactions import AgentWrite, Transaction
from tests.patience import PATIENCE
from tests.reeld.agents.silent_subscriber import SilentSubscriber
from tests.reeld.serving.conftest import Asked, Connect, Peer
from tests.reeld.store.making import busy, event, profile, unguarded, write
from tests.reeld.verify.damage import break_overflow

# A push that fills a queue of the limits below; two of them do not fit.
LARGE = "x" * 1500
NARROW = Limits(pushes=2000)

STORY = (
    ("create", "demo", "be brief"),  # 1, 2
    ("add", "demo", ["one", "two"]),  # 3, 4
    ("mark", "demo", "here"),  # 5
    ("add", "demo", ["three", {"kind": "note", "content": "n"}]),  # 6, 7
    ("rewind", "demo", "here"),  # 8
    ("undo", "demo"),  # 9
    ("clear", "demo"),  # 10, 11
    ("undo", "demo"),  # 12
    ("kill", "demo"),  # 13
    ("revive", "demo"),  # 14
    ("add", "demo", "other", {"from": 4}),  # 15, 16
)
TOLD = [
    # kind, records kept and there, messages kept and there
    ("created", 0, 0, 0, 0),
    ("system", 0, 1, 0, 0),
    ("user", 1, 2, 0, 1),
    ("user", 2, 3, 1, 2),
    ("mark", 3, 3, 2, 2),
    ("user", 3, 4, 2, 3),
    ("note", 4, 4, 3, 3),
    ("rewind", 3, 3, 2, 2),
    ("restore", 3, 4, 2, 3),
    ("clear", 0, 0, 0, 0),
    ("system", 0, 1, 0, 0),
    ("restore", 0, 4, 0, 3),
    ("agent_killed", 4, 4, 3, 3),
    ("revived", 4, 4, 3, 3),
    ("rewind", 2, 2, 1, 1),
    ("user", 2, 3, 1, 2),
]


@pytest.fixture
async def demo(connect: Connect) -> Peer:
    """A connection that has made the agent ``demo``, which is live."""
    peer = connect()
    await peer.ask(("create", "demo"), ("agent", "demo"))
    return peer


def shape(event: dict[str, Any]) -> tuple[Any, ...]:
    """Return the kind and the counts of an event."""
    return event["kind"], event["keep"], event["count"]


def seqs(pushes: list[tuple[str, Any]]) -> list[int]:
    """Return the seqs of pushes, all of which must be events."""
    assert all(name == "event" for name, _ in pushes)
    return [event["seq"] for _, event in pushes]


async def stuck(connect: Connect, *subscribe: Any, limits: Limits = NARROW) -> Peer:
    """Return a connection with a subscription whose peer does not read: one piece is on its way."""
    peer = connect(limits, room=0)
    await peer.call("subscribe", *subscribe)
    await wait_all_tasks_blocked()
    return peer


# --- what comes


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("agent", ["demo", None])
async def test_three_views(connect: Connect, past: bool, agent: str | None) -> None:
    """From the log and as they happen, of one agent and of all, every view has the same events and its own counts."""
    with anyio.fail_after(PATIENCE):
        writer, peers = connect(), {view: connect() for view in ("conversation", "messages", "none")}
        await writer.call("create", "other")
        begun = STORY if past else STORY[:1]
        await writer.ask(*begun)
        since = {"since": (0 if agent else 1) if past else (2 if agent else 3)}
        for view, peer in peers.items():
            asked = {"view": view, **since, **({"agent": agent} if agent else {})}
            await peer.call("subscribe", asked)
        await writer.ask(*STORY[len(begun) :])
        events = {view: await peer.events(16) for view, peer in peers.items()}

    told = TOLD if past else TOLD[2:]
    assert [(kind, keep, count) for kind, keep, count, _, _ in told] == list(map(shape, events["conversation"]))
    assert [(kind, keep, count) for kind, _, _, keep, count in told] == list(map(shape, events["messages"]))
    assert [kind for kind, *_ in told] == [event["kind"] for event in events["none"]]
    assert {"sub", "agent", "name", "id", "seq", "command", "kind", "time"} == set(events["none"][-1])


async def test_what_an_event_brings(connect: Connect, demo: Peer) -> None:
    """A conversation event brings its record or message as it is read later; a system event is not a message."""
    with anyio.fail_after(PATIENCE):
        peers = {"conversation": connect(), "messages": connect(), "none": connect()}
        for view, peer in peers.items():
            await peer.call("subscribe", "demo", {"view": view})
        said = [{"role": "user", "content": "hi", "sent": 5}, {"role": "system", "content": "be kind"}]
        await demo.ask(("add", "demo", said), ("mark", "demo"))
        events = {view: await peer.events(4) for view, peer in peers.items()}
        records = (await demo.call("messages", "demo", {"view": "conversation"}))["conversation"]
        messages = (await demo.call("messages", "demo"))["messages"]

    assert [*records, None] == [event.get("record") for event in events["conversation"]]
    assert [*messages, None, None] == [event.get("message") for event in events["messages"]]
    assert not any("message" in event for event in events["conversation"])
    assert not any("record" in event or "message" in event for event in events["none"])
    first = events["messages"][0]
    assert (1, "demo", 2, 2, 2, 5) == tuple(first[field] for field in ("sub", "name", "id", "seq", "command", "sent"))
    assert (5, 5) == (records[0]["sent"], messages[0]["sent"])


async def test_only_events_of_some_kinds(connect: Connect, demo: Peer) -> None:
    """A subscription to certain kinds has no counts, because its client keeps no copy."""
    with anyio.fail_after(PATIENCE):
        live, again = connect(), connect()
        await live.call("subscribe", "demo", {"kinds": ["mark", "user"]})
        await demo.ask(("add", "demo", ["one", {"kind": "note"}]), ("mark", "demo"), ("clear", "demo"))
        await again.call("subscribe", "demo", {"since": 0, "kinds": ["mark", "user"]})
        heard = [await peer.events(4) for peer in (live, again)]

    assert [["user", "mark"]] * 2 == [[event["kind"] for event in events] for events in heard]
    assert not any({"keep", "count"} & event.keys() for events in heard for event in events)
    assert "message" in heard[0][0]


async def test_the_reply_comes_first(demo: Peer) -> None:
    """The reply to a subscription comes before its first event, also if both calls arrive in one piece."""
    with anyio.fail_after(PATIENCE):
        await demo.send(demo.encoded(("subscribe", "demo", 0), ("add", "demo", "hi")))
        unpacker = Unpacker()
        came: list[Any] = []
        while len(came) < 4:
            unpacker.feed(await demo.stream.receive())
            came += unpacker

    assert [1, 3, {"sub": 1, "head": 1}] == [*came[0][:2], {key: came[0][3][key] for key in ("sub", "head")}]
    assert [1, 2] == [message[2][0]["seq"] for message in came if message[0] == 2]


@pytest.mark.parametrize(
    "command",
    [
        ("add", "demo", "hi"),
        ("add", "demo", ["one", {"kind": "note", "content": "two"}]),
        ("add", "new", "hi", True),
        ("mark", "demo"),
        ("clear", "demo"),
        ("create", "new"),
        ("clone", "demo", "copy"),
        ("clone", "other", {"into": "demo"}),
        ("change", "demo", "renamed"),
        ("kill", "demo"),
        ("commit", [{"method": "add", "agent": agent, "messages": ["hi"]} for agent in ("demo", "other")]),
    ],
)
async def test_nobody_hears_of_what_is_not_committed(
    connect: Connect, services: Services, demo: Peer, command: Asked
) -> None:
    """While a command waits for the disk, nobody is told what it does; afterwards everybody is."""
    with anyio.fail_after(PATIENCE):
        follower = connect()
        await demo.call("add", "other", "hi", True)
        await follower.call("subscribe", None)
        async with busy(services.store):
            await demo.send(demo.encoded(command))
            await wait_all_tasks_blocked()
            assert [] == await follower.pushed()

        name, _ = await follower.push()
        assert "event" == name


# Calls that make agents, write to them, and kill them; the agent ``demo`` exists.
MANY_AGENTS: list[Asked] = [
    ("add", "demo", ["one", "two"]),
    ("clone", "demo", "copy"),
    ("add", "copy", "three"),
    ("add", "new", "four", True),
    ("clone", "new", {"into": "copy"}),
    ("clone", "demo", "early", 1),
    ("kill", "demo", {"cascade": True}),
]


async def test_events_of_all_agents(connect: Connect, demo: Peer) -> None:
    """Events of all agents come in the order of their ids, with those that make an agent, and a clone's counts."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        said = await peer.call("subscribe")
        for call in MANY_AGENTS:
            await demo.ask(call)
        pushes = await peer.pushed()
        events = [event for _, event in pushes]

    assert {"sub": 1, "head": 1} == said
    assert [*range(2, 13)] == [event["id"] for event in events]
    assert [
        ("user", 0, 1),
        ("user", 1, 2),
        ("clone", 0, 2),
        ("user", 2, 3),
        ("created", 0, 0),
        ("user", 0, 1),
        ("clone", 0, 1),
        ("clone", 0, 0),
    ] == list(map(shape, events[:8]))
    assert {"demo", "copy", "early"} == {event["name"] for event in events[8:]}


async def test_names_as_they_are(connect: Connect, demo: Peer) -> None:
    """An event has the name that its agent has after it."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("subscribe", "demo")
        await demo.call("change", "demo", {"name": "new"})
        await demo.call("add", "new", "hi")

        assert ["new", "new"] == [event["name"] for event in await peer.events(3)]


async def test_many_subscriptions_of_one_connection(demo: Peer) -> None:
    """Each subscription of a connection has its own number, and can be ended alone."""
    with anyio.fail_after(PATIENCE):
        for asked in (("demo",), ("demo", {"view": "none"}), ()):
            await demo.call("subscribe", *asked)
        await demo.call("add", "demo", "one")
        one = await demo.pushed()
        await demo.call("unsubscribe", 2)
        await demo.call("add", "demo", "two")
        two = await demo.pushed()
        (refused,) = await demo.ask(("unsubscribe", 2))

    assert [[1, 2, 3], [1, 3]] == [[event["sub"] for _, event in pushes] for pushes in (one, two)]
    assert isinstance(refused, NotFound)
    assert "not_found: sub: this connection has no subscription 2" == str(refused)


async def crowded(demo: Peer) -> Peer:
    """Follow the agent with more subscriptions than are told at once."""
    await demo.ask(*[("subscribe", "demo", {"view": "none"})] * 150)
    return demo


async def test_the_writer_of_many_followers_is_answered_first(demo: Peer) -> None:
    """With many followers, the answer leaves before the pushes; each follower gets every event, in order."""
    with anyio.fail_after(PATIENCE):
        await crowded(demo)
        await demo.send(demo.encoded(("add", "demo", ["one", "two"])))
        unpacker = Unpacker()
        came: list[Any] = []
        while len(came) < 301:
            unpacker.feed(await demo.stream.receive())
            came += unpacker

    assert 1 == came[0][0]
    assert [(sub, seq) for seq in (2, 3) for sub in range(1, 151)] == [
        (pushed["sub"], pushed["seq"]) for _, _, (pushed,) in came[1:]
    ]


class _Ender(SilentSubscriber):
    """A subscriber that ends the last one of a crowd when it is told of an event."""

    def __init__(self, demo: Peer) -> None:
        super().__init__()
        self._demo = demo

    def on_event(self, _: CommittedEvent) -> None:
        self._demo.connection.subscriptions.end(150)


async def test_one_of_many_followers_leaves(demo: Peer, services: Services) -> None:
    """A subscription that has ended is told nothing more, not even what was published before."""
    with anyio.fail_after(PATIENCE):
        ender = _Ender(demo)
        services.registry.bus.subscribe(ender, 1)
        await crowded(demo)
        await demo.call("add", "demo", "one")
        told = [await demo.push() for _ in range(149)]
        rest = await demo.pushed()

    assert [*range(1, 150)] == [event["sub"] for _, event in told]
    assert [] == rest


@pytest.mark.parametrize("ends", ["the peer", "the daemon"])
async def test_many_followers_at_the_end(demo: Peer, ends: str) -> None:
    """What was committed is told before a connection ends."""
    with anyio.fail_after(PATIENCE):
        await crowded(demo)
        if ends == "the peer":
            await demo.send(demo.encoded(("add", "demo", "one")))
        else:
            await demo.call("add", "demo", "one")
            demo.connection.say_bye("the daemon stops")
        await demo.stream.send_eof()
        rest = await demo.rest()

    assert 150 == len(demo.unread_pushes) + rest.count(b"event")
    assert (ends == "the daemon") == rest.endswith(b"the daemon stops")


async def test_a_peer_dropped_while_it_is_told_what_it_missed(connect: Connect, demo: Peer) -> None:
    """A peer whose queue grows too long with ``lagged`` is dropped, with all its subscriptions."""
    with anyio.fail_after(PATIENCE):
        peer = await stuck(connect, "demo", limits=NARROW._replace(all_waiting=1900))
        for _ in range(100):
            await peer.call("subscribe", "demo")
        await demo.call("add", "demo", LARGE)
        await peer.rest()
        await peer.ended.wait()

        assert 0 == (await demo.call("agent", "demo"))["attached"]
    assert 1 == peer.load.dropped


async def test_attached_in_an_agents_info(connect: Connect, demo: Peer) -> None:
    """An agent's info counts the connections that follow it, not those that follow all agents."""
    with anyio.fail_after(PATIENCE):
        one, two = connect(), connect()
        for peer, asked in ((one, ["demo"]), (one, ["demo"]), (two, ["demo"]), (two, [])):
            await peer.call("subscribe", *asked)
        await demo.call("create", "other")
        infos = await demo.ask(
            ("agent", "demo"),
            ("change", "demo", {"title": "t"}),
            ("clone", "other", {"into": "demo"}),
            ("kill", "demo"),
        )
        infos[3:] = await demo.ask(("revive", "demo"), ("clone", "demo", "copy"))
        await one.call("unsubscribe", 1)
        still = await demo.call("agent", "demo")
        await one.call("unsubscribe", 2)
        less = await demo.call("agent", "demo")
        await two.stream.aclose()
        await two.ended.wait()
        none = await demo.call("agent", "demo")

    assert [2, 2, 2, 2, 0] == [info["attached"] for info in infos if isinstance(info, dict)]
    assert [2, 1, 0] == [info["attached"] for info in (still, less, none)]


async def test_dead_and_unknown_agents(connect: Connect, demo: Peer) -> None:
    """A dead agent can be followed, and its revival is pushed; an unknown agent is refused."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await demo.call("kill", "demo")
        said = await peer.call("subscribe", "demo")
        (refused,) = await peer.ask(("subscribe", "nobody"))
        await demo.ask(("revive", "demo"), ("add", "demo", "hi"))

        assert ["revived", "user"] == [event["kind"] for event in await peer.events(4)]
    assert (2, 32) == (said["head"], len(said["agent"]))
    assert isinstance(refused, NotFound)


async def test_an_agent_that_is_evicted(connect: Connect, demo: Peer, services: Services) -> None:
    """Events are pushed also after the agent was evicted and loaded again."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("subscribe", "demo")
        for _ in range(3):
            services.registry.residency.evict_idle(keep=0)
            await demo.call("add", "demo", "hi")

        assert [(0, 1), (1, 2), (2, 3)] == [(event["keep"], event["count"]) for event in await peer.events(4)]


async def test_a_reset_is_pushed(connect: Connect, demo: Peer, services: Services) -> None:
    """Subscribers of an agent are told to read it again if its live state was wrong; others are not."""
    with anyio.fail_after(PATIENCE):
        one, every, other = connect(), connect(), connect()
        made = await demo.call("create", "other")
        for peer, asked in ((one, ["demo"]), (every, []), (other, ["other"])):
            await peer.call("subscribe", *asked)
        await demo.call("add", "demo", "hi")
        agent = await services.registry.find("demo")
        agent.committed.conversation.cut(None)
        await demo.call("replay", "demo")
        heard = [(await peer.pushed())[1:] for peer in (one, every)]

        assert [[("reset", {"agent": agent.committed.profile.uid})]] * 2 == heard
        assert [] == await other.pushed()
    assert made["id"] != agent.committed.profile.uid


# --- from the log into live


async def test_events_since_a_seq(connect: Connect, demo: Peer) -> None:
    """Later events than ``since`` come from the log, then as they happen; up to a ``since`` past the head none come."""
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", ["x"] * 600)
        peers = {since: connect() for since in (0, 300, 601, 603)}
        for since, peer in peers.items():
            await peer.call("subscribe", "demo", since)
        await demo.ask(*[("add", "demo", "y")] * 3)
        heard = {since: [event["seq"] for event in await peer.events(604)] for since, peer in peers.items()}

    assert {since: [*range(since + 1, 605)] for since in peers} == heard


@pytest.mark.slow
async def test_subscriptions_during_writes_get_every_event_once(connect: Connect, demo: Peer) -> None:
    """A subscription that begins while others write gets every event once."""
    of_demo: dict[int, Peer] = {}
    of_all: dict[int, Peer] = {}
    with anyio.fail_after(PATIENCE):
        await demo.call("create", "other")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_write, connect, "demo")
            tasks.start_soon(_write, connect, "other")
            for since in range(30):
                of_demo[since], of_all[since * 3] = connect(), connect()
                await of_demo[since].call("subscribe", "demo", since)
                await of_all[since * 3].call("subscribe", {"since": since * 3, "view": "none"})
        seqs_by_since = {since: await _numbers(peer, "seq", 201) for since, peer in of_demo.items()}
        ids_by_since = {since: await _numbers(peer, "id", 402) for since, peer in of_all.items()}

    assert {since: [*range(since + 1, 202)] for since in of_demo} == seqs_by_since
    assert {since: [*range(since + 1, 403)] for since in of_all} == ids_by_since


async def _write(connect: Connect, agent: str) -> None:
    """Add two hundred messages."""
    peer = connect(Limits(requests=5000))
    for _ in range(40):
        await peer.ask(*[("add", agent, "x")] * 5)


async def _numbers(peer: Peer, field: str, last: int) -> list[int]:
    """Return a field of each event that is pushed, up to its last value."""
    numbers: list[int] = []
    while not numbers or numbers[-1] < last:
        numbers.append((await peer.push())[1][field])
    return numbers


async def test_a_replay_waits_for_its_reader(connect: Connect, demo: Peer) -> None:
    """However slowly the log is read by its peer, all of it comes, and then the subscription is live."""
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", [LARGE] * 20)
        peer = await stuck(connect, "demo", 0)
        await demo.ask(*[("add", "demo", LARGE)] * 20)
        events = await peer.events(41)
        await peer.call("ping")
        await demo.call("mark", "demo")

        assert [*range(1, 43)] == [event["seq"] for event in events] + seqs([await peer.push()])


async def test_a_past_of_many_agents(connect: Connect) -> None:
    """Events from the log of many agents have the counts that were pushed when they were written."""
    with anyio.fail_after(PATIENCE):
        writer, live, again = connect(), connect(), connect()
        await live.call("subscribe")
        for number in range(60):
            await writer.ask(("add", f"a{number % 20}", ["x", "y"], True), ("undo", f"a{number % 20}"))
        pushes = await live.pushed()
        await again.call("subscribe", {"since": 0})
        replayed = [await again.push() for _ in pushes]

    assert pushes == replayed
    assert 20 + 3 * 60 == len(pushes)


async def test_unsubscribe_in_the_middle_of_the_past(connect: Connect, demo: Peer) -> None:
    """A catch-up that is unsubscribed ends; queued events still come, and the connection goes on."""
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", [LARGE] * 20)
        peer = await stuck(connect, "demo", 0)
        await peer.call("unsubscribe", 1)
        came = seqs(await peer.pushed())
        await demo.call("add", "demo", "hi")

        assert [*range(1, len(came) + 1)] == came
        assert len(came) < 21
        assert [] == await peer.pushed()


async def test_a_loss_in_the_middle_of_the_past(connect: Connect, demo: Peer, services: Services) -> None:
    """What is lost while it waits for room is not pushed any more, and what comes then is counted without it."""
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", ["kept", LARGE, LARGE, "lost"])  # 2 to 5
        peer = await stuck(connect, "demo", 0)
        pushes = [await peer.push()]  # it has read the log, and waits with the fourth
        await wait_all_tasks_blocked()
        row = (await services.registry.find("demo")).row
        with unguarded(services.store.path) as connection:
            connection.execute("DELETE FROM events WHERE seq > 3")
        marker, new = event(6, "lost", None, parent=3), event(7, parent=3)
        await write(services.store, Transaction([AgentWrite(profile(row, 7), [marker, new])], []))
        services.registry.bus.tell_loss([])
        while pushes[-1][1].get("seq", 0) < 7:
            pushes.append(await peer.push())

        assert [1, 2, 3, 6, 7] == seqs([push for push in pushes if push[0] == "event"])
        assert [("lost", 2, 2), ("user", 2, 3)] == [shape(said) for _, said in pushes[-2:]]
        assert 1 == sum(name == "reset" for name, _ in pushes)


async def test_unsubscribe_before_the_past_begins(connect: Connect, demo: Peer) -> None:
    """A subscription that is ended in the same piece gets no events."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await demo.call("add", "demo", "hi")
        await peer.send(peer.encoded(("subscribe", 0), ("ping",)))
        outcomes = await peer.ask(("subscribe", {"since": 0}), ("unsubscribe", 1))
        await demo.call("add", "demo", "hi")

    assert [{"sub": 1, "head": 2}, {}] == outcomes


async def test_a_past_that_cannot_be_read(
    connect: Connect, demo: Peer, services: Services, errors: Callable[[], list[str]]
) -> None:
    """A subscription that fails reports from where on events are missing, and ends; the connection does not.

    Of a hundred that fail for one reason, one is logged.
    """
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", [*["x"] * 288, "y" * 20_000, *["x"] * 11])
        await services.store.writer.checkpoint()
        break_overflow(services.store.path, b"y")
        peer = connect()
        await peer.call("subscribe", "demo", 0)
        events = await peer.events(256)
        over = await peer.push()
        other = connect()
        await other.call("subscribe", "demo", 256)
        assert over == await other.push()
        await demo.call("add", "demo", "y")

        assert [] == await peer.pushed()
        assert isinstance((await peer.ask(("unsubscribe", 1)))[0], NotFound)
    assert [*range(1, 257)] == [event["seq"] for event in events]
    assert ("lagged", {"sub": 1, "from": 257, "to": 257}) == over
    (line,) = errors()
    assert line.startswith(f"a read of {services.store.path} failed: connection=2 subscription=1 cannot catch up: ")
    assert line.endswith("the database cannot be read: database disk image is malformed")


# --- slow readers


async def test_lagged_names_the_dropped_seqs(connect: Connect, demo: Peer) -> None:
    """Events without room are dropped; ``lagged`` reports the range once there is room, and ends the subscription."""
    with anyio.fail_after(PATIENCE):
        peer, well = await stuck(connect, "demo"), connect()
        await well.call("subscribe", "demo")
        await demo.ask(*[("add", "demo", LARGE)] * 8, ("mark", "demo"))
        came = [await peer.push()]
        while came[-1][0] == "event":
            came.append(await peer.push())
        first = came[-1][1]["from"]
        await demo.call("add", "demo", "y")

        assert [*range(2, first)] == seqs(came[:-1])
        assert ("lagged", {"sub": 1, "from": first, "to": 10}) == came[-1]
        assert first < 10
        assert [] == await peer.pushed()
        assert [*range(2, 12)] == seqs(await well.pushed())
        assert 1 == (await demo.call("agent", "demo"))["attached"]
        said = await peer.call("subscribe", "demo", first - 1)
        assert 2 == said["sub"]
        assert [*range(first, 12)] == [event["seq"] for event in await peer.events(11)]


async def test_lagged_by_ids(connect: Connect, demo: Peer) -> None:
    """A subscription to all agents gets the range of ids that it missed, counting only wanted events."""
    with anyio.fail_after(PATIENCE):
        peer = await stuck(connect, {"kinds": ["user"]})
        await demo.ask(("create", "other"), ("agent", "other"))
        await demo.ask(*[("add", agent, LARGE) for agent in ("demo", "other") * 3])
        await demo.call("mark", "demo")
        while (push := await peer.push())[0] == "event":
            last = push[1]["id"]

    assert ("lagged", {"sub": 1, "from": last + 1, "to": 8}) == push


async def test_others_of_a_connection_that_lags(connect: Connect, demo: Peer) -> None:
    """A subscription that missed nothing goes on beside one that did."""
    with anyio.fail_after(PATIENCE):
        peer = connect(NARROW, room=0)
        await demo.call("create", "other")
        await peer.ask(("subscribe", "demo"), ("subscribe", "other"))
        await demo.ask(*[("add", "demo", LARGE)] * 4)
        while (await peer.push())[0] == "event":
            pass
        await demo.call("add", "other", "hi")

        assert [("event", 2, 2)] == [(name, event["sub"], event["seq"]) for name, event in await peer.pushed()]


async def test_lagged_is_told_of_while_other_pushes_come(connect: Connect, demo: Peer) -> None:
    """A connection whose queue is never empty is still told that it missed something."""
    with anyio.fail_after(PATIENCE):
        peer = connect(NARROW, room=0)
        await demo.call("create", "other")
        await peer.ask(("subscribe", "demo"), ("subscribe", "other"))
        await demo.ask(*[("add", "demo", LARGE)] * 4)
        names = []
        for _ in range(20):  # the queue is never empty
            await demo.call("add", "other", "hi")
            names.append((await peer.push())[0])
            if names[-1] == "lagged":
                break

    assert "lagged" == names[-1]


async def test_a_push_of_any_size(connect: Connect, demo: Peer) -> None:
    """An event of any size is pushed if no other is queued."""
    with anyio.fail_after(PATIENCE):
        peer = connect(NARROW)
        await peer.call("subscribe", "demo")
        await demo.call("add", "demo", "x" * (1 << 20))
        (event,) = await peer.events(2)

    assert (1 << 20) == len(event["message"]["content"][0]["text"])


async def test_replies_past_their_limit(connect: Connect, demo: Peer, errors: Callable[[], list[str]]) -> None:
    """A peer that keeps asking and does not read is dropped, whatever is pushed to it; others notice nothing."""
    with anyio.fail_after(PATIENCE):
        peer, well = connect(Limits(unread=5000), room=0), connect()
        for each in (peer, well):
            await each.call("subscribe", "demo")
        await demo.call("add", "demo", LARGE)
        await peer.send(peer.encoded(*[("messages", "demo")] * 5))
        await peer.ended.wait()
        await demo.call("add", "demo", "hi")

        assert [2, 3] == seqs(await well.pushed())
        assert 1 == (await demo.call("agent", "demo"))["attached"]
    assert ["connection=2 does not read"] == [line.partition(";")[0] for line in errors()]


@pytest.mark.parametrize("since", [0, 21])
async def test_a_peer_that_vanishes(connect: Connect, demo: Peer, services: Services, since: int) -> None:
    """A connection that is lost during a catch-up or a push leaves nothing behind."""
    with anyio.fail_after(PATIENCE):
        await demo.call("add", "demo", [LARGE] * 20)
        peer = await stuck(connect, "demo", since)
        await demo.call("add", "demo", LARGE)
        await peer.stream.aclose()
        await peer.ended.wait()
        await demo.call("add", "demo", LARGE)

        assert 0 == (await demo.call("agent", "demo"))["attached"]
        assert not services.registry.bus.has_subscribers(1)


class FailingStream(BufferedByteStream):
    """A stream with a bug: it raises an error that no stream should raise when it receives ``fail``."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await super().receive(max_bytes)
        if data == b"fail":
            raise RuntimeError("a bug")
        return data


async def test_a_connection_that_fails(connect: Connect, demo: Peer, services: Services) -> None:
    """A bug in serving a connection ends its subscriptions with it."""
    peer = connect(daemon_end=FailingStream)
    with anyio.fail_after(PATIENCE):
        await peer.call("subscribe", "demo")
        peer.may_fail = True
        await peer.send(b"fail")
        await peer.ended.wait()

        assert not services.registry.bus.has_subscribers(1)
        assert 2 == (await demo.call("add", "demo", "hi"))["head"]


async def test_half_close_with_a_subscription(connect: Connect, demo: Peer) -> None:
    """A half-closed peer gets what is queued and is closed, although it has a subscription."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("subscribe", "demo")
        await demo.call("add", "demo", "hi")
        await peer.stream.send_eof()
        await peer.ended.wait()

        assert 0 == (await demo.call("agent", "demo"))["attached"]
        assert b"event" in await peer.rest()


# --- limits


async def test_too_many_subscriptions(connect: Connect, demo: Peer) -> None:
    """A connection has a maximum of subscriptions; ending one makes room for another."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(subscriptions=2))
        await peer.call("subscribe", "demo")
        await peer.call("subscribe")
        outcomes = await peer.ask(("subscribe", "demo"), ("subscribe",))
        await peer.call("unsubscribe", 1)

        assert [True, True] == [isinstance(outcome, Busy) for outcome in outcomes]
        assert 3 == (await peer.call("subscribe", "demo"))["sub"]
        assert 1 == (await demo.call("agent", "demo"))["attached"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"since": -1}, "since"),
        ({"since": 1.5}, "since"),
        ({"view": "both"}, "view"),
        ({"kinds": ["gossip"]}, "kinds"),
        ({"agent": 7}, "agent"),
    ],
)
async def test_what_cannot_be_subscribed_to(connect: Connect, params: dict[str, Any], field: str) -> None:
    """The error names the wrong parameter."""
    with anyio.fail_after(PATIENCE):
        (refused,) = await connect().ask(("subscribe", params))

    assert isinstance(refused, InvalidParams)
    assert str(refused).startswith(f"invalid_params: {field}")


async def test_hello_lists_the_features(connect: Connect) -> None:
    """Hello lists the features."""
    with anyio.fail_after(PATIENCE):
        assert {"subscriptions", "drafts"} <= {*(await connect().call("hello"))["features"]}


# --- the end


async def test_bye_goes_to_subscribers_only(connect: Connect, demo: Peer) -> None:
    """A peer with a subscription is told when the daemon stops; one without is not."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("subscribe", "demo")
        for each in (peer, demo):
            each.connection.refuse_more()
            each.connection.say_bye("the daemon stops")
        said = await peer.push()
        await demo.stream.send_eof()

        assert ("bye", {"reason": "the daemon stops"}) == said
        assert b"" == await demo.rest()


async def test_a_failing_subscriber_beside_a_connection(
    connect: Connect, demo: Peer, services: Services, errors: Callable[[], list[str]]
) -> None:
    """If a subscriber raises, neither the writer nor other subscribers are affected."""

    class Bad(SilentSubscriber):
        def on_event(self, _: CommittedEvent) -> None:
            raise RuntimeError("deaf")

    with anyio.fail_after(PATIENCE):
        peer = connect()
        services.registry.bus.subscribe(Bad(), 1)
        await peer.call("subscribe", "demo")
        await demo.call("add", "demo", "hi")

        assert [2] == seqs(await peer.pushed())
    assert ["a subscriber failed on event=2 of agent=demo"] == errors()


async def test_asked_for_before_the_agent_is_free(demo: Peer) -> None:
    """A subscription begins in its turn: earlier requests of its connection are not among its events."""
    with anyio.fail_after(PATIENCE):
        outcomes = await demo.ask(
            ("add", "demo", "one"), ("clear", "demo"), ("subscribe", "demo"), ("add", "demo", "x")
        )

        assert 3 == outcomes[2]["head"]  # type: ignore[index]
        assert [4] == seqs(await demo.pushed())
