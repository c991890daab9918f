"""What waits to be sent to a peer: its answers, and pushes, in the order in which they were queued.

Answers are always taken; a peer that lets too many of them pile up is given up. Pushes are taken while there is
room, so that who publishes never waits. One of any size finds room where no other waits.
"""

import logging
from collections.abc import Callable

import anyio
from anyio.abc import ByteStream

from reeld.serving.call import Limits
from reeld.serving.load import Load
from reeld.serving.pieces import pieces

log = logging.getLogger(__name__)


class Outbox:
    """The queue of one connection.

    Args:
        number: the connection's.
        limits: what may wait.
        load: what waits on all connections.
        give_up: called when the peer does not read what it is answered.
        sent: called whenever all that was queued at some moment has been sent.
    """

    def __init__(
        self, number: int, limits: Limits, load: Load, give_up: Callable[[], None], sent: Callable[[], None]
    ) -> None:
        self._number = number
        self._limits = limits
        self._load = load
        self._give_up = give_up
        self._sent = sent
        self._queue: list[bytes] = []
        self._answers = 0
        self._pushes = 0
        # Pushes that found no room and of which only the newest counts, by what they are about.
        self._latest: dict[object, bytes] = {}
        self._late = 0
        self._mail = anyio.Event()
        self._room = anyio.Event()
        self._sending = False
        self._pieces = 0
        self._closed = False

    @property
    def empty(self) -> bool:
        """Whether everything has been sent, or nothing will be any more."""
        return self._closed or not (self._answers or self._pushes)

    @property
    def answered(self) -> bool:
        """Whether every answer has been sent."""
        return not self._answers

    @property
    def waiting(self) -> int:
        """How many bytes wait."""
        return 0 if self._closed else self._answers + self._pushes + self._late

    def close(self) -> None:
        """Forget what waits, and take no more: nobody is at the other end."""
        self._load.waiting -= self.waiting
        self._closed = True
        self._queue.clear()
        self._latest.clear()
        self._room.set()

    def post(self, data: bytes) -> None:
        """Queue an answer."""
        if self._closed:
            return
        if self._answers and self._answers + len(data) > self._limits.unread:
            self._despair(self._answers)
            return
        self._answers += len(data)
        self._append(data)

    def _despair(self, waiting: int) -> None:
        log.warning("connection=%d does not read; %d bytes wait; closing it", self._number, waiting)
        self._give_up()

    def push(self, data: bytes) -> bool:
        """Queue a push; tell whether there was room for it."""
        if self._closed:
            return True
        if self._pushes and self._pushes + len(data) > self._limits.pushes:
            return False
        self._pushes += len(data)
        self._append(data)
        return True

    def push_soon(self, key: object, data: bytes) -> None:
        """Queue a push as soon as there is room; of those with one key, the newest."""
        self._late_one(key)
        if self.push(data):
            return
        if self._late + len(data) > self._limits.unread:
            self._despair(self._late)
            return
        self._latest[key] = data
        self._late += len(data)
        self._load.hold(len(data), self._limits.all_waiting)

    def _late_one(self, key: object) -> bytes:
        """Take back what found no room."""
        data = self._latest.pop(key, b"")
        self._late -= len(data)
        self._load.waiting -= len(data)
        return data

    async def room(self) -> None:
        """Wait until something of what was queued has been sent, or nothing will be any more."""
        await self._room.wait()

    def _append(self, data: bytes) -> None:
        self._queue.append(data)
        self._mail.set()
        self._load.hold(len(data), self._limits.all_waiting)

    async def send(self, stream: ByteStream) -> None:
        """Send what is queued, as much as there is in one piece, until cancelled."""
        while True:
            await self._mail.wait()
            self._mail = anyio.Event()
            while self._queue:
                waiting, self._queue = self._queue, []
                answers, pushes = self._answers, self._pushes
                try:
                    for piece in pieces(waiting):
                        self._sending = True
                        await stream.send(piece)
                        self._sending = False
                        self._pieces += 1
                finally:
                    waiting.clear()  # it may be much, and what was cancelled is collected late
                if self._closed:
                    return
                self._answers -= answers
                self._pushes -= pushes
                self._load.waiting -= answers + pushes
                self._make_room()
                self._sent()

    def _make_room(self) -> None:
        self._room.set()
        self._room = anyio.Event()
        for key in list(self._latest):
            if self._closed or (self._pushes and self._pushes + len(self._latest[key]) > self._limits.pushes):
                return
            self.push(self._late_one(key))

    async def watch(self) -> None:
        """Return once the peer takes nothing of what is being sent to it; a limit on each send would cost more."""
        while True:
            pieces, sending = self._pieces, self._sending
            await anyio.sleep(self._limits.stall)
            if sending and self._sending and self._pieces == pieces:
                log.warning("connection=%d has read nothing for %g s; closing it", self._number, self._limits.stall)
                return
