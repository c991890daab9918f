"""The blocking client's subscription: an iterator over live events."""

from __future__ import annotations

import _socket as socket  # as in reel.daemon.peer
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event
from types import TracebackType

from reel.base.errors import NotRunning, ReelError, ShuttingDown, Timeout
from reel.base.light_typing import TYPE_CHECKING
from reel.daemon.peer import ATTEMPT, RETRY_INTERVAL
from reel.machines.subscription_state import SubscriptionState
from reel.wire.frames import RECEIVED
from reel.wire.pushes import Push

if TYPE_CHECKING:
    from typing import Self


class Subscription(Iterator[Push]):
    """An iterator over pushes, which reconnects if the daemon is restarted.

    It has a connection of its own, and reads only when it is asked for the next push. The daemon does not wait for slow
    readers, but reads what they missed from the log. So every event comes once and in order. :meth:`close` ends it.

    Args:
        state: what is subscribed to.
        dial: opens a connection, which may take so many seconds; ``None`` for no limit.
        patience: how long to try to reconnect after the connection was lost, in seconds.
        timeout: how long the daemon may take to accept the subscription, in seconds; ``None`` for no limit.
        wait: waits until there is something to read from a file descriptor, for so many seconds. What it raises leaves
            the subscription as it is.
    """

    def __init__(
        self,
        state: SubscriptionState,
        dial: Callable[[float | None], socket.socket],
        patience: float,
        timeout: float | None = None,
        wait: Callable[[int, float | None], None] | None = None,
    ) -> None:
        self._state = state
        self._wait = wait
        self._dial = dial
        self._patience = patience
        self._timeout = timeout
        self._ready: deque[Push] = deque()
        self._socket: socket.socket | None = None
        # The process that made the connection.
        self._process = os.getpid()
        self._closed = Event()
        try:
            while state.head is None:
                self._read()
        except TimeoutError:
            self.close()
            raise Timeout(f"subscribe took longer than {timeout:g} s", seconds=timeout) from None
        except (OSError, EOFError) as error:
            self.close()
            raise NotRunning(f"the daemon hung up: {error}") from error
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<reel Subscription to {self._state!r}{', closed' if self._closed.is_set() else ''}>"

    @property
    def head(self) -> int:
        """The newest seq when the subscription began, or the newest event id if all agents are followed."""
        assert self._state.head is not None  # noqa: S101 - set since it began
        return self._state.head

    def __next__(self) -> Push:
        """Wait for the next push.

        Raises:
            NotRunning: the daemon went away and did not come back in time.
            ReelError: the daemon refused to continue the subscription.
        """
        until: float | None = None
        while not self._ready:
            if self._closed.is_set():
                raise StopIteration
            try:
                self._read()
                until = None
            except (OSError, EOFError, NotRunning, ShuttingDown, Timeout) as error:
                self._hang_up()
                until = time.monotonic() + self._patience if until is None else until
                if not self._closed.is_set():
                    self._pause(error, until)
            except ReelError:
                self._hang_up()
                raise
        return self._ready.popleft()

    def _pause(self, error: Exception, until: float) -> None:
        """Wait before the next attempt, or give up."""
        if time.monotonic() >= until:
            raise NotRunning(f"the daemon went away: {error}") from error
        self._closed.wait(RETRY_INTERVAL)

    def close(self) -> None:
        """End the subscription; the iterator stops, also in another thread that waits for the next push."""
        self._closed.set()
        self._ready.clear()
        if self._socket is not None and self._process == os.getpid():
            with suppress(OSError):  # the connection was lost already
                self._socket.shutdown(socket.SHUT_RDWR)
        self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        """Read what has arrived; connect first if there is no connection, or only that of the parent of a fork."""
        if self._process != os.getpid():
            self._hang_up()
        # In a variable, since another thread may close the subscription at any time.
        connection = self._socket or self._connect()
        if self._wait is not None and self._state.has_begun:
            self._wait(connection.fileno(), None)
        data = connection.recv(RECEIVED)
        if self._closed.is_set():
            return
        if not data:
            raise EOFError("connection closed")
        self._ready += self._state.feed(data)
        if self._state.has_begun:
            connection.settimeout(None)  # events may be rare
        if self._state.stuck:
            raise EOFError("the daemon cannot send what was missed")
        if self._state.over:
            self._hang_up()

    def _connect(self) -> socket.socket:
        # What listens there after a restart may be something else, which accepts and never answers.
        again = None if self._state.head is None else max(self._patience, ATTEMPT)
        limit = again if self._timeout is None else self._timeout
        self._socket = connection = self._dial(limit)
        self._process = os.getpid()
        if self._closed.is_set():
            raise EOFError("closed by another thread, which found no connection to close")
        connection.settimeout(limit)
        connection.sendall(self._state.open())
        return connection

    def _hang_up(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()
