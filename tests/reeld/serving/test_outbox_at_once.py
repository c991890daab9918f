"""What an outbox sends at the end of a batch, over a socket of which the test has the other end."""

import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import trio
from anyio.abc import ByteStream
from trio.testing import wait_all_tasks_blocked

from reeld.serving.flow import Limits, Traffic
from reeld.serving.outbox import PIECE, Outbox


class SocketOutbox:
    """An outbox with a running sender, and how often it had sent everything."""

    def __init__(self, stream: ByteStream, peer: socket.socket, limits: Limits) -> None:
        self.stream = stream
        self.peer = peer
        self.traffic = Traffic()
        self.times_sent = 0
        self.box = Outbox(1, limits, self.traffic, lambda: None, self._on_sent)

    def _on_sent(self) -> None:
        self.times_sent += 1

    def arrived(self, size: int) -> bytes:
        """Return what is there, of so many bytes at most."""
        try:
            return self.peer.recv(size)
        except BlockingIOError:
            return b""


@asynccontextmanager
async def connected(limits: Limits | None = None) -> AsyncIterator[SocketOutbox]:
    """Yield an outbox that sends to a socket."""
    ours, peer = socket.socketpair()
    peer.setblocking(False)
    stream = await anyio.abc.UNIXSocketStream.from_socket(ours)
    async with stream, anyio.create_task_group() as tasks:
        made = SocketOutbox(stream, peer, limits or Limits())
        made.box.open(stream, tasks.start_soon)
        with peer:
            yield made
        tasks.cancel_scope.cancel()


async def test_a_batch_is_sent_at_its_end() -> None:
    """What is queued during a batch is sent at its end, as one piece, and no task is needed for it."""
    async with connected() as it:
        with it.traffic.batch:
            it.box.reply(b"a1")
            assert it.box.push(b"p1")
            assert b"" == it.arrived(100)

        assert (b"a1p1", True, 1, 0) == (it.arrived(100), it.box.empty, it.times_sent, it.traffic.waiting)


async def test_a_reply_outside_of_a_batch() -> None:
    """It is sent at once; a push alone waits for what may follow."""
    async with connected() as it:
        assert it.box.push(b"p1")
        assert b"" == it.arrived(100)
        await wait_all_tasks_blocked()
        assert b"p1" == it.arrived(100)
        it.box.reply(b"a1")

        assert (b"a1", True, 0) == (it.arrived(100), it.box.empty, it.traffic.waiting)


async def test_the_sender_ends_when_nothing_is_left() -> None:
    """There is no task for a connection that waits; the next one begins when it is needed."""
    async with connected() as it:
        before = trio.lowlevel.current_statistics().tasks_living
        for text in (b"p1", b"p2"):
            assert it.box.push(text)
            assert before + 1 == trio.lowlevel.current_statistics().tasks_living
            await wait_all_tasks_blocked()

            assert (before, text) == (trio.lowlevel.current_statistics().tasks_living, it.arrived(100))


async def test_what_finds_no_room_is_left_to_the_sender() -> None:
    """What the peer does not take at once follows as it reads, in order, and so does what is queued after it."""
    sent = b"".join(number.to_bytes(4) for number in range(PIECE // 4))
    async with connected() as it:
        for _ in range(8):
            with it.traffic.batch:
                it.box.reply(sent)
        assert not it.box.empty
        found = b""
        while len(found) < 8 * len(sent):
            found += it.arrived(1 << 20)
            await anyio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()

        assert 8 * sent == found
        assert (True, 0) == (it.box.empty, it.traffic.waiting)


async def test_a_long_reply_is_left_to_the_sender() -> None:
    """A reply longer than a piece is sent by the sender, which notices a peer that stalls."""
    async with connected() as it:
        with it.traffic.batch:
            it.box.reply(b"x" * (PIECE + 1))
        assert b"" == it.arrived(1)


async def test_a_peer_that_is_gone() -> None:
    """An end that was closed is noticed by the sender, not at the end of the batch."""
    ours, peer = socket.socketpair()
    stream = await anyio.abc.UNIXSocketStream.from_socket(ours)
    traffic = Traffic()
    box = Outbox(1, Limits(), traffic, lambda: None, lambda: None)
    failed = False
    async with stream, anyio.create_task_group() as tasks:

        async def watch(send: Callable[[], Coroutine[Any, Any, None]]) -> None:
            nonlocal failed
            try:
                await send()
            except BrokenPipeError:
                failed = True

        box.open(stream, lambda send: tasks.start_soon(watch, send))
        peer.close()
        with traffic.batch:
            box.reply(b"x")
        await wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert failed


async def test_replies_leave_before_pushes() -> None:
    """At the end of a batch a connection with a reply sends before those that have pushes only."""
    sent: list[str] = []
    traffic = Traffic()
    follower, writer = (
        Outbox(number, Limits(), traffic, lambda: None, partial(sent.append, name))
        for number, name in enumerate(("follower", "writer"))
    )
    async with connected() as one, connected() as two, anyio.create_task_group() as tasks:
        follower.open(one.stream, tasks.start_soon)
        writer.open(two.stream, tasks.start_soon)
        with traffic.batch:
            assert follower.push(b"event")
            assert writer.push(b"event")
            writer.reply(b"reply")
        tasks.cancel_scope.cancel()

        assert ["writer", "follower"] == sent
        assert (b"event", b"eventreply") == (one.arrived(100), two.arrived(100))
