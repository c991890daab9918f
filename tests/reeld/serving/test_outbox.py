"""The outbox, without a connection: streams in memory, and a virtual clock."""

# ruff: noqa: ARG001 - pytest-trio takes a clock from a test's own parameters

import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import anyio
import pytest
import trio.testing
from anyio.abc import ByteStream
from anyio.streams.stapled import StapledObjectStream
from trio.testing import wait_all_tasks_blocked

from reeld.serving.flow import Limits, Traffic
from reeld.serving.outbox import PIECE, Outbox


class RecordedOutbox:
    """An outbox, and what happened to it.

    Args:
        limits: the outbox's.
        room: how many pieces can be sent that nobody has read.
    """

    def __init__(self, limits: Limits, room: float = 0) -> None:
        self.given_up = 0
        self.times_sent = 0
        self.load = Traffic()
        self.box = Outbox(1, limits, self.load, self._give_up, self._sent)
        to_peer, self.peer = anyio.create_memory_object_stream[bytes](room)
        to_daemon, nowhere = anyio.create_memory_object_stream[bytes](1)
        self._ends = (to_peer, self.peer, to_daemon, nowhere)
        self.stream: ByteStream = StapledObjectStream(to_peer, nowhere)  # type: ignore[assignment]

    def _give_up(self) -> None:
        self.given_up += 1

    def _sent(self) -> None:
        self.times_sent += 1

    def close(self) -> None:
        """Close every end."""
        for end in self._ends:
            end.close()


OpenOutbox: TypeAlias = Callable[..., Awaitable[RecordedOutbox]]


@pytest.fixture
async def open_outbox(nursery: trio.Nursery) -> AsyncIterator[OpenOutbox]:
    """Return a function that makes an outbox with a running sender, whose peer is the test."""
    made: list[RecordedOutbox] = []

    async def make(limits: Limits, room: float = 0) -> RecordedOutbox:
        made.append(RecordedOutbox(limits, room))
        made[-1].box.open(made[-1].stream, nursery.start_soon)
        return made[-1]

    yield make
    nursery.cancel_scope.cancel()
    for each in made:
        each.close()


SMALL = Limits(unread=10, pushes=10)


async def test_everything_queued_is_one_piece(open_outbox: OpenOutbox) -> None:
    """Everything queued before the sender wakes up is sent at once, answers and pushes in order."""
    it = await open_outbox(SMALL, math.inf)
    it.box.reply(b"a1")
    assert it.box.push(b"p1")
    it.box.reply(b"a2")
    await wait_all_tasks_blocked()

    assert (b"a1p1a2", True, 1) == (it.peer.receive_nowait(), it.box.empty, it.times_sent)


async def test_room_for_pushes(open_outbox: OpenOutbox) -> None:
    """Pushes have room up to their limit, including what is being sent; answers do not count."""
    it = await open_outbox(SMALL)
    it.box.reply(b"x" * 1000)
    first = [it.box.push(b"12345") for _ in range(3)]
    await wait_all_tasks_blocked()
    await it.peer.receive()
    await wait_all_tasks_blocked()

    assert [True, True, False] == first
    assert [True, True, False] == [it.box.push(b"12345") for _ in range(3)]


async def test_one_of_any_size(open_outbox: OpenOutbox) -> None:
    """A push or an answer above its limit is taken if no other of its kind is queued."""
    it = await open_outbox(SMALL)

    assert [True, False] == [it.box.push(b"x" * 100), it.box.push(b"x")]
    it.box.reply(b"x" * 100)
    assert 0 == it.given_up
    it.box.reply(b"x")
    assert 1 == it.given_up


async def test_the_newest_of_a_key(open_outbox: OpenOutbox) -> None:
    """Of the pushes that may be late only the newest of each key is sent, as soon as there is room."""
    it = await open_outbox(SMALL)
    it.box.push(b"x" * 10)
    for key, text in (("a", b"a1"), ("b", b"b1"), ("a", b"a2")):
        it.box.push_latest(key, text)
    await wait_all_tasks_blocked()
    came = await it.peer.receive() + await it.peer.receive()

    assert [b"a2", b"b1"] == sorted([came[10:12], came[12:]])
    await wait_all_tasks_blocked()
    assert it.box.empty


async def test_the_newest_goes_ahead_of_what_it_replaces(open_outbox: OpenOutbox) -> None:
    """A short text that replaces one without room goes out before later pushes."""
    it = await open_outbox(SMALL)
    it.box.push(b"12345")
    it.box.push_latest("draft", b"x" * 9)
    it.box.push_latest("draft", b"end")
    assert it.box.push(b"ev")
    await wait_all_tasks_blocked()
    came = [await it.peer.receive(), b""]
    await wait_all_tasks_blocked()

    assert b"12345endev" == came[0]
    assert it.box.empty


async def test_no_room_for_all_that_is_late(open_outbox: OpenOutbox) -> None:
    """A late push waits until there is as much room as it needs."""
    it = await open_outbox(SMALL._replace(unread=20))
    it.box.push(b"x" * 10)
    for key in range(4):
        it.box.push_latest(key, b"12345")
    sizes = []
    while not it.box.empty:
        await wait_all_tasks_blocked()
        sizes.append(len(await it.peer.receive()))
        await wait_all_tasks_blocked()

    assert [10, 10, 10] == sizes


async def test_waiting_for_room(open_outbox: OpenOutbox, nursery: trio.Nursery) -> None:
    """A task that waits for room goes on when something was sent, or when nothing will be."""
    it = await open_outbox(SMALL)
    rooms = []

    async def wait() -> None:
        await it.box.wait_for_room()
        rooms.append(it.box.push(b"x" * 10))

    it.box.push(b"x" * 10)
    nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    assert [] == rooms
    await it.peer.receive()
    await wait_all_tasks_blocked()
    assert [True] == rooms
    nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    it.box.close()
    await wait_all_tasks_blocked()

    assert [True, True] == rooms


async def test_sent_is_said_after_each_piece(open_outbox: OpenOutbox) -> None:
    """The callback for free room is called after each send, although more was queued in the meantime."""
    it = await open_outbox(SMALL)
    for times in range(1, 4):
        it.box.push(b"1")
        await wait_all_tasks_blocked()
        it.box.push(b"2")
        await it.peer.receive()
        await wait_all_tasks_blocked()
        assert times == it.times_sent


async def test_what_was_sent_is_not_kept(open_outbox: OpenOutbox) -> None:
    """A rendered body of megabytes is freed when it has been sent, and not when the next reply is."""
    found = await open_outbox(Limits(), math.inf)
    data = bytes(PIECE + 1)
    references = sys.getrefcount(data)
    found.box.reply(data)
    await wait_all_tasks_blocked()

    assert found.box.all_replies_sent
    assert references == sys.getrefcount(data)


async def test_a_closed_outbox_is_empty(open_outbox: OpenOutbox) -> None:
    """A closed outbox accepts everything, keeps nothing and is empty."""
    it = await open_outbox(SMALL)
    it.box.push(b"12345")
    it.box.push_latest("key", b"x" * 10)
    it.box.close()
    it.box.reply(b"x" * 100)
    it.box.push_latest("key", b"x")

    assert [True] * 3 == [it.box.push(b"x" * 100) for _ in range(3)]
    assert (True, 0) == (it.box.empty, it.given_up)


async def test_closing_while_the_last_piece_goes_out(open_outbox: OpenOutbox) -> None:
    """An outbox that is closed just after a send is empty too."""
    it = await open_outbox(SMALL)
    it.box.reply(b"12345")
    it.box.push(b"12345")
    await wait_all_tasks_blocked()
    it.peer.receive_nowait()
    it.box.close()
    await wait_all_tasks_blocked()

    assert it.box.empty


@pytest.mark.parametrize("reads", [True, False])
async def test_a_peer_that_stalls(autojump_clock: trio.testing.MockClock, reads: bool) -> None:
    """Sending fails if a peer takes nothing for this many seconds; one that takes a part is waited for."""
    it = RecordedOutbox(Limits(stall=60))
    it.box.reply(b"x" * (1 << 20))
    stalled = False
    with trio.move_on_after(1000):
        async with trio.open_nursery() as both:

            async def read() -> None:
                while reads:
                    await trio.sleep(50)
                    await it.peer.receive()

            async def watch(send: Callable[[], Coroutine[Any, Any, None]]) -> None:
                nonlocal stalled
                try:
                    await send()
                except TimeoutError:
                    stalled = True

            both.start_soon(read)
            it.box.open(it.stream, lambda send: both.start_soon(watch, send))
    it.close()

    assert reads != stalled


async def test_nothing_to_send_is_no_stall(open_outbox: OpenOutbox, autojump_clock: trio.testing.MockClock) -> None:
    """A peer for which nothing is queued may be silent for ever."""
    it = await open_outbox(Limits(stall=60), room=1)
    await trio.sleep(10_000)
    it.box.reply(b"x")

    assert b"x" == await it.peer.receive()


async def test_too_much_that_is_late(open_outbox: OpenOutbox) -> None:
    """A peer that does not read the newest pushes of ever more keys is dropped."""
    it = await open_outbox(SMALL)
    it.box.push(b"x" * 10)
    it.box.push_latest("a", b"x" * 10)
    it.box.push_latest("a", b"y" * 10)
    assert 0 == it.given_up
    it.box.push_latest("b", b"x")

    assert 1 == it.given_up


async def test_what_waits_is_counted(open_outbox: OpenOutbox) -> None:
    """Queued bytes of every kind count as load until they are sent or discarded."""
    it = await open_outbox(SMALL)
    it.box.reply(b"x" * 3)
    it.box.push(b"x" * 10)
    it.box.push_latest("a", b"x" * 7)
    it.box.push_latest("a", b"x" * 5)
    assert 18 == it.box.waiting == it.load.waiting

    while not it.box.empty:
        await wait_all_tasks_blocked()
        await it.peer.receive()
        await wait_all_tasks_blocked()
    assert 0 == it.box.waiting == it.load.waiting

    it.box.reply(b"x" * 3)
    it.box.push(b"x" * 10)
    it.box.push_latest("a", b"x" * 7)
    it.box.close()
    it.box.close()
    assert 0 == it.box.waiting == it.load.waiting
