"""The queue to one peer: its replies and pushes, in the order in which they were queued.

A reply is always accepted; a peer that lets too many of them pile up is disconnected. A push is accepted only while
there is room, so that a publisher never waits for a reader. An empty queue accepts a message of any size.

Messages that are queued during a batch (:mod:`reeld.core.batch`) are sent at its end, and a reply outside of a batch is
sent at once, both with non-blocking sends. What the socket does not accept is left to the sender, a task that exists
only while something is left.
"""

import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from traceback import clear_frames
from typing import Any, TypeAlias

import anyio
from anyio.abc import ByteStream, SocketAttribute

from reeld.serving.flow import Limits, Traffic, do_nothing

# Bytes that are sent at a time: as many as a socket takes at once, as Linux makes it. The rest of a longer piece would
# wait for another turn of the event loop. A peer counts as stalled if a piece takes longer than ``Limits.stall``.
PIECE = 212_992
# Starts a task.
Start: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class Outbox:
    """The queue of one connection.

    Args:
        number: the connection's.
        limits: the limits of the queue.
        traffic: the totals over all connections.
        give_up: called if the peer does not read its replies.
        on_sent: called whenever everything that was queued at some point has been sent.
    """

    def __init__(
        self, number: int, limits: Limits, traffic: Traffic, give_up: Callable[[], None], on_sent: Callable[[], None]
    ) -> None:
        self._number = number
        self._limits = limits
        self._traffic = traffic
        self._give_up = give_up
        self._on_sent = on_sent
        self._queue: list[bytes] = []
        # Bytes in the queue, by what they are.
        self._replies = 0
        self._pushes = 0
        # Pushes that found no room and of which only the newest per key counts; and their bytes.
        self._latest: dict[object, bytes] = {}
        self._latest_bytes = 0
        self._stream: ByteStream | None = None
        # Starts the sender; and whether it is running, so that it also sends what is queued meanwhile.
        self._start: Start | None = None
        self._busy = False
        # Set when there is room; ``None`` while nobody waits. Not a Signal, because several subscriptions may wait.
        self._room: anyio.Event | None = None
        # The socket, for non-blocking sends; ``None`` before :meth:`open`, and for a stream that is not a socket.
        self._socket: socket.socket | None = None
        self._closed = False
        # Whether a push found no room since the last call of :attr:`on_sent`, or during it.
        self.was_full = False

    @property
    def empty(self) -> bool:
        """Whether everything has been sent, or nothing will be any more."""
        return self._closed or not (self._replies or self._pushes)

    @property
    def all_replies_sent(self) -> bool:
        """Whether no reply is queued."""
        return not self._replies

    @property
    def waiting(self) -> int:
        """How many bytes are queued."""
        return 0 if self._closed else self._replies + self._pushes + self._latest_bytes

    def close(self) -> None:
        """Drop the queue and accept no more: the peer is gone."""
        self._traffic.waiting -= self.waiting
        self._closed = True
        self._queue.clear()
        self._latest.clear()
        self._announce_room()
        self._socket = self._stream = self._start = None
        self._give_up = self._on_sent = do_nothing  # they refer to the connection, and would keep it in memory

    def reply(self, data: bytes) -> None:
        """Queue a reply."""
        if self._closed:
            return
        if self._replies and self._replies + len(data) > self._limits.unread:
            self._overflow(self._replies)
            return
        # The reply to a writer is sent before the pushes to followers.
        self._replies += len(data)
        self._append(data, urgent=self._replies == len(data))

    def _overflow(self, waiting: int) -> None:
        text = "connection=%d does not read; %d bytes wait; closing it"
        self._traffic.warnings.warn(self._number, text, self._number, waiting)
        self._give_up()

    def push(self, data: bytes) -> bool:
        """Queue a push if there is room; return whether there was."""
        if self._closed:
            return True
        pushes = self._pushes + len(data)
        if self._pushes and pushes > self._limits.pushes:
            self.was_full = True
            return False
        self._pushes = pushes
        self._append(data, urgent=False)
        return True

    def push_latest(self, key: object, data: bytes) -> None:
        """Queue a push as soon as there is room; of several with one key, only the newest."""
        self._discard_latest(key)
        if self.push(data):
            return
        if self._latest_bytes + len(data) > self._limits.unread:
            self._overflow(self._latest_bytes)
            return
        self._latest[key] = data
        self._latest_bytes += len(data)
        self._traffic.buffer(len(data), self._limits.all_waiting)

    def _discard_latest(self, key: object) -> bytes:
        data = self._latest.pop(key, b"")
        self._latest_bytes -= len(data)
        self._traffic.waiting -= len(data)
        return data

    async def wait_for_room(self) -> None:
        """Wait until a part of the queue has been sent, or the outbox is closed."""
        if self._closed:
            return
        if self._room is None:
            self._room = anyio.Event()
        await self._room.wait()

    def _append(self, data: bytes, *, urgent: bool) -> None:
        queue, traffic = self._queue, self._traffic
        queue.append(data)
        traffic.waiting += len(data)
        if traffic.waiting > self._limits.all_waiting:
            traffic.relieve(self._limits.all_waiting)
        if (urgent or len(queue) == 1) and not traffic.batch.note(self.send_now, urgent=urgent):
            if urgent:
                self.send_now()
            else:  # more may follow, which is sent together
                self._wake_sender()

    def send_now(self) -> None:
        """Send as much as possible without waiting, and leave the rest to the sender."""
        queue = self._queue
        if self._busy or not queue:
            return
        if self._socket is not None and self._replies + self._pushes <= PIECE:
            data = b""
            try:
                data = queue[0] if len(queue) == 1 else b"".join(queue)
                sent = self._socket.send(data)
            except (OSError, MemoryError):  # the buffer is full, or the peer is gone, which the sender will notice
                sent = -1
            if sent == len(data):
                queue.clear()
                self._take_off(self._replies, self._pushes)
                return
            if sent > 0:
                self._queue = [data[sent:]]
        self._wake_sender()

    def open(self, stream: ByteStream, start: Start) -> None:
        """Start sending.

        Args:
            stream: where to.
            start: starts the sender, which ends with a ``TimeoutError`` if the peer has stalled, and with an
                ``OSError`` if it is gone.
        """
        self._stream, self._socket = stream, stream.extra(SocketAttribute.raw_socket, None)
        self._start = start
        if self._queue:
            self._wake_sender()

    def _wake_sender(self) -> None:
        if not self._busy and self._start is not None:
            self._busy = True
            self._start(self._send)

    async def _send(self) -> None:
        """Send what could not be sent at once.

        Raises:
            TimeoutError: the peer has stalled.
            OSError: it is gone.
        """
        while self._queue and self._stream is not None:
            replies, pushes = self._replies, self._pushes
            await self._send_queue(self._stream)
            if not self._closed:
                self._take_off(replies, pushes)
        self._busy = False

    async def _send_queue(self, stream: ByteStream) -> None:
        """Send the queue. No variable of the sender refers to it: that would keep it in memory until the next one."""
        batch, self._queue = self._queue, []
        try:
            with anyio.fail_after(self._limits.stall) as limit:
                for piece in pieces(batch):
                    await self._send_piece(stream, piece)
                    limit.deadline = anyio.current_time() + self._limits.stall
        except BaseException as error:
            if isinstance(error, TimeoutError):
                text = "connection=%d has read nothing for %g s; closing it"
                self._traffic.warnings.warn(self._number, text, self._number, self._limits.stall)
            # anyio leaves a cancellation in a cycle with the frames that it went through: they would keep the
            # connection, and what was being sent, until the garbage collector runs.
            clear_frames(error.__traceback__)
            raise

    async def _send_piece(self, stream: ByteStream, piece: bytes | memoryview) -> None:
        """Send a piece.

        The stream would first try the socket, which has no room for most pieces of a page, and only then wait.
        """
        if self._socket is None:
            await stream.send(bytes(piece))
            return
        peer, left = self._socket, memoryview(piece)
        while left:
            await anyio.wait_writable(peer)
            with suppress(BlockingIOError):
                left = left[peer.send(left) :]

    def _take_off(self, replies: int, pushes: int) -> None:
        """Take note that these bytes have been sent."""
        self._replies -= replies
        self._pushes -= pushes
        self._traffic.waiting -= replies + pushes
        if self._room is not None:
            self._announce_room()
        if self._latest:
            self._push_the_latest()
        self._on_sent()

    def _announce_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None

    def _push_the_latest(self) -> None:
        for key in list(self._latest):
            if self._closed or (self._pushes and self._pushes + len(self._latest[key]) > self._limits.pushes):
                return
            self.push(self._discard_latest(key))


def pieces(messages: list[bytes], length: int = PIECE) -> Iterator[bytes | memoryview]:
    """Join whole messages to pieces of at most this length; only a longer message is cut.

    Vim drops a message whose rest arrives more than 100 ms after its beginning, so a message is cut only where the
    kernel's buffer would cut it anyway.
    """
    if sum(map(len, messages)) <= length:
        yield messages[0] if len(messages) == 1 else b"".join(messages)
        return
    joined: list[bytes] = []
    room = length
    for message in messages:
        if len(message) > room:
            if joined:
                yield b"".join(joined)
            joined, room = [], length
        if len(message) > length:
            whole = memoryview(message)
            yield from (whole[start : start + length] for start in range(0, len(message), length))
        else:
            joined.append(message)
            room -= len(message)
    if joined:
        yield b"".join(joined)
