"""Waiting for events and showing drafts, over a connection."""

from typing import Any

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import Busy, InvalidParams, NotFound, ReelError, ShuttingDown, TooLarge
from reeld.agents.asking import lock
from reeld.serving.call import Services
from reeld.serving.drafts import MAX_DRAFT, MAX_DRAFTS
from reeld.serving.flow import Limits
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Blocker, Connect, Outcome, Peer, Pushed


@pytest.fixture
async def demo(connect: Connect) -> Peer:
    """A connection that has made the agent ``demo``, which is live and has a message."""
    peer = connect()
    await peer.ask(("add", "demo", "hi", True), ("agent", "demo"))
    return peer


def result_of(outcome: Outcome) -> tuple[int, list[str]]:
    """Return the result of a wait: the head, and the kinds of its events."""
    assert isinstance(outcome, dict)
    return outcome["head"], [event["kind"] for event in outcome["events"]]


def drafts(pushes: list[Pushed]) -> list[str]:
    """Return the texts of pushes, all of which must be drafts."""
    assert all(name == "draft" for name, _ in pushes)
    return [draft["text"] for _, draft in pushes]


# --- wait


async def test_wait_for_what_has_happened(demo: Peer) -> None:
    """A wait whose events are in the log already returns at once, with events as in the history."""
    with anyio.fail_after(PATIENCE):
        outcome = await demo.call("wait", "demo", 1)

        assert outcome["events"] == (await demo.call("history", "demo", 1))["events"]
        assert (2, ["user"]) == result_of(outcome)


async def test_wait_holds_up_nothing(demo: Peer) -> None:
    """Requests after a wait on the same connection are served before it ends, even one that ends it."""
    with anyio.fail_after(PATIENCE):
        await demo.send(demo.encoded(("wait", "demo", 2), ("ping",), ("add", "demo", "more")))
        await demo.answer(4)
        await demo.answer(5)

        assert (3, ["user"]) == result_of(await demo.answer(3))


async def test_wait_for_kinds(connect: Connect, demo: Peer) -> None:
    """Only an event of the wanted kinds ends a wait, and only such events are returned."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(("wait", "demo", 0, ["mark", "clear"])))
        await demo.ask(("add", "demo", "no"), ("mark", "demo"))

        assert (4, ["mark"]) == result_of(await peer.answer(1))


async def test_wait_past_the_head(connect: Connect, demo: Peer) -> None:
    """A wait since a seq beyond the head ignores the events up to that seq."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(("wait", "demo", 4)))
        await wait_all_tasks_blocked()
        for _ in range(3):
            await demo.call("mark", "demo")

        assert (5, ["mark"]) == result_of(await peer.answer(1))


async def test_wait_for_the_next_of_many(connect: Connect, demo: Peer) -> None:
    """Consecutive waits see every event once, however fast events are written."""

    async def write() -> None:
        for _ in range(100):
            await demo.call("mark", "demo")

    with anyio.fail_after(PATIENCE):
        peer = connect()
        seqs: list[int] = [2]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            while seqs[-1] < 102:
                seqs += [event["seq"] for event in (await peer.call("wait", "demo", seqs[-1]))["events"]]

    assert [*range(2, 103)] == seqs


@pytest.mark.parametrize("patience", [0, 1])
async def test_wait_until_the_timeout(demo: Peer, patience: int) -> None:
    """A wait that times out returns no events, and is not an error."""
    with anyio.fail_after(PATIENCE):
        assert {"head": 2, "events": []} == await demo.call("wait", "demo", 2, {"timeout": patience})


async def test_waits_are_not_in_flight(connect: Connect, demo: Peer) -> None:
    """Waits have a limit of their own, and do not count among the requests in flight."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=2, asides=3))
        for number in range(3):
            await peer.send(peer.encoded(("wait", "demo", 2)))
            await wait_all_tasks_blocked()
            assert (0, 0) == (peer.load.requests, peer.load.bytes), number
        (refused,) = await peer.ask(("wait", "demo", 2))
        assert {"pong": True} == await peer.call("ping")
        await demo.call("mark", "demo")

        assert [(3, ["mark"])] * 3 == [result_of(await peer.answer(number)) for number in (1, 2, 3)]
        assert isinstance(refused, Busy)
        assert (3, ["mark"]) == result_of(await peer.call("wait", "demo", 2))


async def test_wait_while_the_daemon_stops(demo: Peer, blocker: Blocker) -> None:
    """A waiting peer is shown that the daemon stops, even if the wait had not begun."""
    with anyio.fail_after(PATIENCE):
        await demo.send(demo.encoded(("wait", "demo", 2), ("wait_for_it",), ("wait", "demo", 2)))
        await blocker.entered.wait()
        await wait_all_tasks_blocked()
        demo.connection.refuse_more()
        blocker.released.set()
        outcomes = [await demo.answer(number) for number in (3, 5)]
        await demo.connection.drain()

    assert [ShuttingDown, ShuttingDown] == [type(outcome) for outcome in outcomes]


async def test_wait_of_a_half_closed_peer(connect: Connect, demo: Peer) -> None:
    """A wait of a peer that has closed its half is answered."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(("wait", "demo", 2)))
        await peer.stream.send_eof()
        await wait_all_tasks_blocked()
        await demo.call("mark", "demo")

        assert (3, ["mark"]) == result_of(await peer.answer(1))
        await peer.ended.wait()


@pytest.mark.parametrize("begun", [True, False])
async def test_wait_of_a_lost_peer(
    connect: Connect, demo: Peer, blocker: Blocker, services: Services, begun: bool
) -> None:
    """A wait of a lost peer ends with its connection, whether it had begun or not."""
    with anyio.fail_after(PATIENCE):
        peer = connect(room=0)
        calls = [("wait", "demo", 2), ("wait_for_it",)]
        await peer.send(peer.encoded(*(calls if begun else calls[::-1]), ("ping",), ("nonsense",)))
        await blocker.entered.wait()
        await wait_all_tasks_blocked()
        peer.connection.drop()  # what a failing send does
        blocker.released.set()
        await peer.ended.wait()

        assert (0, 0) == (demo.load.requests, demo.load.bytes)
        assert not services.registry.bus.has_subscribers(1)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (("nobody", 0), NotFound),
        (("demo",), InvalidParams),
        (("demo", -1), InvalidParams),
        (("demo", 0, ["gossip"]), InvalidParams),
        (("demo", 0, ["user"], -1), InvalidParams),
        (("demo", 0, ["user"], 3_600_001), InvalidParams),
    ],
)
async def test_waits_that_are_refused(demo: Peer, params: tuple[Any, ...], error: type[ReelError]) -> None:
    """Bad parameters of a wait are refused at once."""
    with anyio.fail_after(PATIENCE):
        (refused,) = await demo.ask(("wait", *params))

    assert error is type(refused)


# --- draft


async def test_a_draft_is_pushed_to_other_subscribers(connect: Connect, demo: Peer) -> None:
    """Other subscribers get a draft once each; its end comes before the event, and is not stored."""
    with anyio.fail_after(PATIENCE):
        other, twice = connect(), connect()
        for peer, asked in ((demo, ["demo"]), (other, ["demo"]), (twice, ["demo"]), (twice, [])):
            await peer.call("subscribe", *asked)
        await demo.ask(("draft", "demo", "so far"), ("add", "demo", "all of it"))
        heard = [await peer.pushed() for peer in (other, twice, demo)]
        head = (await demo.call("agent", "demo"))["head"]
        uid = (await demo.call("agent", "demo"))["id"]

    shown = [("draft", {"agent": uid, "connection": 1, "client": None, "text": text}) for text in ("so far", "")]
    assert [shown, shown, []] == [heard[0][:2], heard[1][:2], heard[2][:0]]
    assert [["event"], ["event", "event"], ["event"]] == [
        [name for name, _ in pushes] for pushes in (heard[0][2:], heard[1][2:], heard[2])
    ]
    assert 3 == head


async def test_a_draft_names_its_client(connect: Connect, demo: Peer) -> None:
    """A draft names its writer's client, also to later subscribers."""
    with anyio.fail_after(PATIENCE):
        await demo.call("hello", {"client": {"name": "emacs", "version": "28"}})
        early, late = connect(), connect()
        await early.call("subscribe", "demo")
        await demo.call("draft", "demo", "so far")
        await late.call("subscribe", "demo")
        pushes = await early.pushed() + await late.pushed()

    assert ["emacs", "emacs"] == [draft["client"] for _, draft in pushes]


async def test_a_draft_that_stays(connect: Connect, demo: Peer) -> None:
    """A draft stays if another client adds something, or if an add is refused."""
    with anyio.fail_after(PATIENCE):
        writer, other = connect(), connect()
        await other.call("subscribe", "demo", {"kinds": ["mark"]})
        await writer.call("draft", "demo", "so far")
        await demo.call("add", "demo", "in between")
        await writer.ask(("add", "demo", [7]), ("add", "demo", "x", {"if_seq": 99}), ("add", "nobody", "x"))

        assert ["so far"] == drafts(await other.pushed())
        await writer.call("add", "demo", "done")
        assert [""] == drafts(await other.pushed())


async def test_drafts_for_newcomers(connect: Connect, demo: Peer) -> None:
    """A new subscriber gets the current drafts of its agent, or of all agents."""
    with anyio.fail_after(PATIENCE):
        await demo.ask(("create", "other"), ("draft", "demo", "so far"), ("draft", "other", "as well"))
        await demo.call("agent", "other")
        one, every = connect(), connect()
        await one.call("subscribe", "demo", 0)
        await every.call("subscribe")
        await demo.call("subscribe", "demo")
        heard = [[push for push in await peer.pushed() if push[0] == "draft"] for peer in (one, every, demo)]

    assert [["so far"], ["so far", "as well"], []] == list(map(drafts, heard))


async def test_a_draft_ends_with_its_connection(connect: Connect, demo: Peer) -> None:
    """The draft of a lost connection ends."""
    with anyio.fail_after(PATIENCE):
        writer = connect()
        await demo.call("subscribe", "demo")
        await writer.call("draft", "demo", "so far")
        await writer.stream.aclose()
        await writer.ended.wait()

        assert ["so far", ""] == drafts(await demo.pushed())


async def test_no_draft_of_a_lost_connection(connect: Connect, demo: Peer, services: Services) -> None:
    """A draft whose turn comes after its connection was lost is shown to nobody."""
    with anyio.fail_after(PATIENCE):
        writer = connect(room=0)
        await demo.call("subscribe", "demo")
        async with lock(services.registry, [await services.registry.find("demo")]):
            await writer.send(writer.encoded(("draft", "demo", "boo")))
            await wait_all_tasks_blocked()
            writer.connection.drop()
            await wait_all_tasks_blocked()
        await writer.ended.wait()

        assert [] == await demo.pushed()
        await demo.call("subscribe", "demo")
        assert [] == await demo.pushed()


async def test_drafts_that_are_refused(demo: Peer) -> None:
    """A draft's length and a connection's drafts are limited, and the agent must exist."""
    with anyio.fail_after(PATIENCE):
        names = [f"a{number}" for number in range(MAX_DRAFTS + 1)]
        await demo.ask(*(("create", name) for name in names))
        outcomes = await demo.ask(*(("draft", name, "x") for name in names))
        await demo.call("draft", "a0", "")
        (long, nobody, now) = await demo.ask(
            ("draft", "a0", "x" * (MAX_DRAFT + 1)), ("draft", "nobody", "x"), ("draft", names[-1], "x")
        )

    busy = [outcome for outcome in outcomes if outcome != {}]
    assert [Busy] == list(map(type, busy))
    assert (TooLarge, NotFound) == (type(long), type(nobody))
    assert {} == now


async def test_a_wait_that_brings_a_full_page(connect: Connect) -> None:
    """A client that waits again from the returned head misses nothing, however many events there were."""
    peer = connect()
    with anyio.fail_after(PATIENCE):
        await peer.call("add", "demo", [str(number) for number in range(1500)], True)
        first = await peer.call("wait", "demo", 1)
        rest = await peer.call("wait", "demo", first["head"])

    assert list(range(2, 1502)) == [event["seq"] for event in first["events"] + rest["events"]]
    assert 1501 == rest["head"]
