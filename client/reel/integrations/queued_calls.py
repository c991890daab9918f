"""The calls of a blocking client that async programs await: a queue for its thread, and one that a loop has begun."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from reel.base.errors import Timeout
from reel.requests import Call
from reel.sync.client import Client
from reel.sync.exchange import Exchange

R = TypeVar("R")

# How long a cancelled call may take, in seconds: as long as a restart of the daemon.
SETTLES_WITHIN = 10.0


class QueuedCall(Generic[R]):
    """A call for the thread.

    An executor's futures, awaited by ``asyncio.wait``, cost 80 us more per call, a tenth of an add.

    Args:
        work: the function to call.
        client: its argument.
    """

    def __init__(self, work: Callable[[Client], R], client: Client) -> None:
        self.is_over = False
        # Called once it is over, in the thread.
        self.on_end: Callable[[], object] = int
        self._work = work
        self._client = client
        # Whoever acquires it first carries the call out, or withdraws it.
        self._taken = threading.Lock()
        self._result: R | None = None
        self._error: BaseException | None = None

    def carry_out(self, before_end: Callable[[], object]) -> None:
        """Call it, unless it was withdrawn.

        Args:
            before_end: called before anybody learns that it is over.
        """
        if not self._taken.acquire(blocking=False):
            before_end()
            return
        try:
            self._result = self._work(self._client)
        except BaseException as error:
            self._error = error
        before_end()
        self.is_over = True
        self.on_end()

    def withdraw(self) -> bool:
        """Withdraw the call; return whether that succeeded."""
        return self._taken.acquire(blocking=False)

    @property
    def result(self) -> R:
        """What the call returned; its error is raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # it may be None by itself

    @property
    def why_not_done(self) -> BaseException | None:
        """The reason why a cancelled call failed or is not over; ``None`` if it is done."""
        if self.is_over:
            return self._error
        if self.withdraw():
            return Timeout("the calls before it took too long; it was not carried out", seconds=SETTLES_WITHIN)
        late = f"it took {SETTLES_WITHIN:g} s longer than the cancellation; it may still be carried out"
        return Timeout(late, seconds=SETTLES_WITHIN)


class BegunCall(QueuedCall[R]):
    """A call whose request has been sent: nobody can withdraw it.

    Args:
        work: the function to call, once the exchange is over or in the thread.
        client: its first argument.
        exchange: its second argument.
    """

    def __init__(self, work: Callable[[Client, Exchange], R], client: Client, exchange: Exchange) -> None:
        super().__init__(lambda client: work(client, exchange), client)
        self.exchange = exchange

    def withdraw(self) -> bool:
        """Return ``False``."""
        return False


class CallQueue:
    """The calls for the thread, in their order, and the one that an event loop carries out instead.

    A loop does so only as long as there is no other call: its thread may wait for another one, or be busy.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[QueuedCall[Any] | None] = SimpleQueue()
        # How many were put or begun and are not over. The lock is for this, and for what is done without the thread.
        self._under_way = 0
        self._lock = threading.Lock()
        # The call that a loop carries out.
        self._begun: BegunCall[Any] | None = None

    def put(self, call: QueuedCall[Any]) -> None:
        """Let the thread carry out a call."""
        with self._lock:
            self._under_way += 1
            self._hand_over()
            self._queue.put(call)

    def end(self) -> None:
        """Let the thread end."""
        self._queue.put(None)

    def carry_out_all(self) -> None:
        """Carry out calls until the end."""
        while (call := self._queue.get()) is not None:
            call.carry_out(self._note_end)
            del call  # otherwise it would be kept until the next one comes

    def _note_end(self) -> None:
        with self._lock:
            self._count_down()

    def _count_down(self) -> None:
        """Count a call that is over; the lock is held."""
        self._under_way -= 1

    def begin(self, client: Client, request: Call[Any], work: Callable[[Client, Exchange], R]) -> BegunCall[R] | None:
        """Send a request and return the call that waits for the reply; ``None`` if any call is under way."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            exchange = None if self._under_way else client.begin(request)
            if exchange is None:
                return None
            begun = self._begun = BegunCall(work, client, exchange)
            self._under_way = 1
            if not exchange.is_sent:
                self._hand_over()
            return begun
        finally:
            self._lock.release()

    def read(self, begun: BegunCall[Any]) -> bool:
        """Read what has arrived for a call, which is then carried out; return whether the loop has to wait for more."""
        with self._lock:
            if self._begun is not begun:
                return False
            if not begun.exchange.read():
                return True
            if begun.exchange.is_answered:
                self._begun = None
                begun.carry_out(self._count_down)
            else:
                self._hand_over()
            return False

    def hand_over(self, begun: BegunCall[Any] | None = None) -> None:
        """Let the thread carry out the call that a loop has begun: this one, or by default any."""
        with self._lock:
            if begun is None or self._begun is begun:
                self._hand_over()

    def _hand_over(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            self._queue.put(begun)

    def close(self, client: Client) -> None:
        """Close the connection of a client, after the calls that are under way."""
        with self._lock:
            is_free = not self._under_way
        if is_free:
            client.close()
        else:
            self.put(QueuedCall(Client.close, client))

    def at_once(self, work: Callable[[], R | None]) -> R | None:
        """Return what a function returns that is called here, or ``None`` if any call is under way."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return None if self._under_way else work()
        finally:
            self._lock.release()
