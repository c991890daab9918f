"""The async client's subscription: an iterator over live events."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import SocketStream

from reel.aio.time_limit import TimeLimit
from reel.base.errors import NotRunning, ReelError, ShuttingDown
from reel.daemon.peer import ATTEMPT, RETRY_INTERVAL
from reel.machines.subscription_state import SubscriptionState
from reel.wire.frames import RECEIVED
from reel.wire.pushes import Push

# The exceptions by which anyio reports that a connection was lost.
LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)


class Subscription(AsyncIterator[Push]):
    """An iterator over pushes, which reconnects if the daemon is restarted; ``async with`` begins and ends it.

    It has a connection of its own, and reads only when it is asked for the next push. The daemon does not wait for slow
    readers, but reads what they missed from the log. So every event comes once and in order.

    Args:
        state: what is subscribed to.
        dial: opens a connection.
        patience: how long to try to reconnect after the connection was lost, in seconds.
        limit: how long the daemon may take to accept the subscription.
    """

    def __init__(
        self,
        state: SubscriptionState,
        dial: Callable[[], Awaitable[SocketStream]],
        patience: float,
        limit: TimeLimit,
    ) -> None:
        self._state = state
        self._dial = dial
        self._patience = patience
        self._limit = limit
        self._ready: deque[Push] = deque()
        self._stream: SocketStream | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<reel Subscription to {self._state!r}{', closed' if self._closed else ''}>"

    @property
    def head(self) -> int:
        """The newest seq when the subscription began, or the newest event id if all agents are followed."""
        assert self._state.head is not None  # noqa: S101 - set since it began
        return self._state.head

    async def __aenter__(self) -> Self:
        try:
            with self._limit.within("subscribe took longer than"):
                while self._state.head is None:
                    await self._read()
        except LOST as error:
            await self._hang_up()
            raise NotRunning(f"the daemon hung up: {str(error) or 'connection closed'}") from error
        except BaseException:
            await self._hang_up()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._ready.clear()
        await self._hang_up()

    async def __anext__(self) -> Push:
        """Wait for the next push.

        Raises:
            NotRunning: the daemon went away and did not come back in time.
            ReelError: the daemon refused to continue the subscription.
        """
        until: float | None = None
        while not self._ready:
            if self._closed:
                raise StopAsyncIteration
            try:
                await self._read()
                until = None
            except (*LOST, NotRunning, ShuttingDown) as error:
                await self._hang_up()
                until = anyio.current_time() + self._patience if until is None else until
                if not self._closed:
                    await self._pause(error, until)
            except ReelError:
                await self._hang_up()
                raise
        return self._ready.popleft()

    async def _pause(self, error: Exception, until: float) -> None:
        """Wait before the next attempt, or give up."""
        if anyio.current_time() >= until:
            raise NotRunning(f"the daemon went away: {str(error) or 'connection closed'}") from error
        await anyio.sleep(RETRY_INTERVAL)

    async def _read(self) -> None:
        """Read what has arrived; connect first if there is no connection.

        Raises:
            TimeoutError: what listens there now does not accept the subscription.
        """
        if self._state.head is None or (self._stream is not None and self._state.has_begun):
            await self._receive()
        else:
            with anyio.move_on_after(max(self._patience, ATTEMPT)) as limit:
                await self._receive()
                while self._stream is not None and not self._state.has_begun:
                    await self._receive()
            if limit.cancelled_caught:
                raise TimeoutError("what listens there does not answer")

    async def _receive(self) -> None:
        stream = self._stream or await self._connect()
        self._ready += self._state.feed(await stream.receive(RECEIVED))
        if self._state.stuck:
            raise BrokenPipeError("the daemon cannot send what was missed")
        if self._state.over:
            await self._hang_up()

    async def _connect(self) -> SocketStream:
        """Begin on a new connection; close it if that fails half way."""
        self._stream = stream = await self._dial()
        if self._closed:
            raise anyio.ClosedResourceError  # closed by another task, which found no connection to close
        try:
            await stream.send(self._state.open())
        except BaseException:
            await self._hang_up()
            raise
        return stream

    async def _hang_up(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await anyio.aclose_forcefully(stream)
