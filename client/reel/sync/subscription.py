"""What happens, as it happens: the blocking client's subscription."""

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event
from types import TracebackType
from typing import Self

from reel.errors import NotRunning, ReelError, ShuttingDown
from reel.peer import RETRY_INTERVAL
from reel.pushes import Push
from reel.subscription_state import SubscriptionState

_CHUNK = 1 << 18


class Subscription(Iterator[Push]):
    """An iterator over what is pushed, which comes back by itself after the daemon was restarted.

    It has a connection of its own, and reads as fast as it is asked for more; the daemon waits for nobody, but
    what was missed is read from the log, so that every event comes once and in order. It ends with :meth:`close`.

    Args:
        state: what is subscribed to.
        dial: opens a connection.
        patience: how long a lost connection is tried again, in seconds.
    """

    def __init__(self, state: SubscriptionState, dial: Callable[[], socket.socket], patience: float) -> None:
        self._state = state
        self._dial = dial
        self._patience = patience
        self._ready: deque[Push] = deque()
        self._socket: socket.socket | None = None
        self._closed = Event()
        try:
            while state.head is None:
                self._read()
        except (OSError, EOFError) as error:
            self.close()
            raise NotRunning(f"the daemon hung up: {error}") from error
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> int:
        """The newest seq when it began; the newest event's id where all agents are followed."""
        assert self._state.head is not None  # noqa: S101 - it has begun
        return self._state.head

    def __next__(self) -> Push:
        """Wait for the next push.

        Raises:
            NotRunning: the daemon went away, and did not come back in time.
            ReelError: it refuses to go on.
        """
        until: float | None = None
        while not self._ready:
            if self._closed.is_set():
                raise StopIteration
            try:
                self._read()
                until = None
            except (OSError, EOFError, NotRunning, ShuttingDown) as error:
                self._hang_up()
                until = time.monotonic() + self._patience if until is None else until
                if not self._closed.is_set():
                    self._pause(error, until)
            except ReelError:
                self._hang_up()
                raise
        return self._ready.popleft()

    def _pause(self, error: Exception, until: float) -> None:
        """Wait before the next try, or give up."""
        if time.monotonic() >= until:
            raise NotRunning(f"the daemon went away: {error}") from error
        self._closed.wait(RETRY_INTERVAL)

    def close(self) -> None:
        """End it; another thread that waits for the next push is let go."""
        self._closed.set()
        self._ready.clear()
        if self._socket is not None:
            with suppress(OSError):  # it was lost already
                self._socket.shutdown(socket.SHUT_RDWR)
        self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        """Take in what has arrived, on a new connection where there is none."""
        # Not looked up again: another thread may end it at any time.
        connection = self._socket or self._connect()
        data = connection.recv(_CHUNK)
        if self._closed.is_set():
            return
        if not data:
            raise EOFError("connection closed")
        self._ready += self._state.feed(data)
        if self._state.stuck:
            raise EOFError("it cannot tell what was missed")
        if self._state.over:
            self._hang_up()

    def _connect(self) -> socket.socket:
        self._socket = connection = self._dial()
        if self._closed.is_set():
            raise EOFError("ended by another thread, which found no connection to end")
        connection.sendall(self._state.open())
        return connection

    def _hang_up(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()
