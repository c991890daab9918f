"""The calls of the async client that have no response, and which of them may be sent.

No more calls are left unanswered than the *window* allows. At first these are as many as the daemon accepts. The calls
themselves may be the reason why a connection was lost: the daemon hangs up if too many bytes of replies wait for the
client. So the window of the next connection begins with one call, and doubles with each response.
"""

from collections import deque
from collections.abc import Container, Iterable
from typing import Any

import anyio

from reel.base.errors import ReelError
from reel.wire.frames import Id

# How many calls a daemon that does not say so accepts at once.
_IN_FLIGHT = 256
# Methods whose calls do not count as in flight, because they may wait for long.
_ASIDE = frozenset({"wait", "verify", "backup", "search"})


class Waiting:
    """A call without a response.

    Args:
        number: its id.
        method: the method that it calls.
        request: the bytes to send, on each connection until a response comes.
    """

    def __init__(self, number: int, method: str, request: bytes) -> None:
        self.number = number
        self.method = method
        self.request = request
        # Whether it was sent on the current connection.
        self.is_sent = False
        # When to stop sending it again; ``None`` before a connection was lost on which it was sent.
        self.give_up_at: float | None = None
        self.answered = anyio.Event()
        self.result: dict[str, Any] = {}
        self.error: ReelError | None = None

    def end(self, result: dict[str, Any] | None, error: ReelError | None = None) -> None:
        """Wake the caller, with a result or an error."""
        self.result, self.error = result or {}, error
        self.answered.set()


class Outgoing:
    """The calls that are to be sent on a connection, and the ids of those that are in flight on it.

    A call whose caller was cancelled stays in flight until its response comes.
    """

    def __init__(self) -> None:
        self._queue: deque[Waiting] = deque()
        self._in_flight: set[Id] = set()
        self._most = self._window = _IN_FLIGHT

    def widen_to(self, most: int | None) -> None:
        """Use the whole of what a daemon accepts at once; ``None`` if it does not say."""
        self._most = self._window = most or _IN_FLIGHT

    def narrow(self, most: int | None) -> None:
        """Begin with one call, after a connection was lost."""
        self.widen_to(most)
        self._window = 1

    def put(self, waiting: Waiting) -> None:
        """Queue a call."""
        self._queue.append(waiting)

    def begin(self, calls: Iterable[Waiting]) -> None:
        """Queue these calls, and no others, for a new connection."""
        self._queue.clear()
        self._in_flight.clear()
        for waiting in calls:
            waiting.is_sent = False
            self._queue.append(waiting)

    def take(self, wanted: Container[Id]) -> bytes:
        """Take the calls that may be sent now out of the queue, in their order; return their bytes.

        Args:
            wanted: the ids of the calls whose callers were not cancelled; the others are not sent.
        """
        requests = []
        while self._queue and (len(self._in_flight) < self._window or self._queue[0].method in _ASIDE):
            waiting = self._queue.popleft()
            if waiting.number not in wanted:
                continue
            if waiting.method not in _ASIDE:
                self._in_flight.add(waiting.number)
            waiting.is_sent = True
            requests.append(waiting.request)
        return b"".join(requests)

    def answered(self, number: Id) -> bool:
        """Take note of the response to a call; return whether others may be sent because of it."""
        if number not in self._in_flight:
            return False
        self._in_flight.remove(number)
        self._window = min(2 * self._window, self._most)
        return bool(self._queue)
