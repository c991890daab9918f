"""The async client, on anyio: the same requests as the blocking client, many at once on one connection.

Theory of operation. The *keeper* task owns the connection: it connects, greets, and reads responses until the
connection is lost. Then it reconnects as soon as a call is waiting, and resends all calls without a response, commands
under their keys. The *sender* task writes what is queued, so that a caller that is cancelled never leaves half a frame
behind. Callers wait for their responses. One that is cancelled is forgotten, and its response is dropped.

Which calls may be sent at a time is in :mod:`reel.aio.outgoing`.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

import anyio
from anyio.abc import SocketAttribute, SocketStream

from reel import replies, requests
from reel.aio.methods import Methods
from reel.aio.outgoing import Outgoing, Waiting
from reel.aio.subscription import LOST, Subscription
from reel.aio.time_limit import TimeLimit
from reel.base.errors import NotRunning, ParseError, ReelError, ShuttingDown, from_wire
from reel.base.wakeup import Signal
from reel.daemon.lock_file import sockets_by_lock
from reel.daemon.peer import ATTEMPT, RETRY_INTERVAL, connection_refused, require_trusted
from reel.machines.subscription_state import SubscriptionState
from reel.requests import Call, greeting, with_idempotency_key
from reel.requests.calls import describe, require_size
from reel.wire.frames import MAX_REPLY, RECEIVED, Id, InvalidFrame, Response
from reel.wire.session import MessagePack

if TYPE_CHECKING:
    import asyncio

    from reel.aio.handle import Handle


R = TypeVar("R")
P = ParamSpec("P")


def _subscription(request: Callable[P, Call[replies.Subscribed]]) -> "Callable[Concatenate[Client, P], Subscription]":
    """Return the method that subscribes, on a connection of its own."""

    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> "Subscription":
        state = SubscriptionState(request(*args, **kwargs), self._name)
        return Subscription(state, self._reach, self._patience, self._limit)

    return describe(method, request, "Subscription")


class Client(Methods):
    """A connection to the daemon that many tasks share; :func:`connect` makes one."""

    def __init__(self, path: str, *, autostart: bool, patience: float, timeout: float | None, name: str) -> None:
        self.path = path
        self._autostart = autostart
        self._patience = patience
        self._limit = TimeLimit(timeout)
        self._name = name
        self._framing = MessagePack(MAX_REPLY)
        self._waiting: dict[Id, Waiting] = {}
        self._number = 0
        self._outgoing = Outgoing()
        self._mail = Signal()
        # Whether there is a connection that has been greeted. Without one, a call wakes the keeper.
        self._connected = False
        self._wanted = Signal()
        self._closed = False
        # The task that keeps the connection if no task group does.
        self._keeper: asyncio.Task[None] | None = None

    def handle(self, agent: str) -> "Handle":
        """Return a handle of one conversation, which has the methods about it without the name; it need not exist yet.

        Args:
            agent: a name or an id.
        """
        from reel.aio.handle import Handle  # noqa: PLC0415 - most programs need none

        return Handle(self, agent)

    async def send(self, call: Call[R]) -> R:
        """Send one request, wait for its reply and return that; a command has a key, and is repeated under it."""
        call = with_idempotency_key(call)
        if self._closed:
            raise NotRunning("this client was closed; connect again")
        self._number += 1
        number = self._number
        request = self._framing.request(number, call.method, [call.params])
        require_size(request, self.server)
        waiting = self._waiting[number] = Waiting(number, call.method, request)
        try:
            if self._connected:
                self._post(waiting)
            self._wanted.set()
            with self._limit.within(f"{call.method} took longer than", "; it may still be carried out"):
                await waiting.answered.wait()
        finally:
            self._waiting.pop(number, None)
        if waiting.error is not None:
            raise waiting.error
        return call.read(waiting.result)

    def belong_to(self, keeper: "asyncio.Task[None]") -> None:
        """Let a task keep the connection until :meth:`close` ends it."""
        self._keeper = keeper

    async def close(self) -> None:
        """Close a connection that was made with ``await``; a block closes its own at its end."""
        if self._keeper is not None:
            from asyncio import CancelledError  # noqa: PLC0415 - there is a keeper on asyncio only

            self._keeper.cancel()
            with suppress(CancelledError):
                await self._keeper

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<reel.aio.Client of {self.path}, {'connected' if self._connected else 'not connected'}>"

    subscribe = _subscription(requests.subscribe)

    def _post(self, waiting: Waiting) -> None:
        """Queue a request for the sender."""
        self._outgoing.put(waiting)
        self._mail.set()

    # --- the keeper

    async def keep(self, stream: SocketStream) -> None:
        """Own the connection for as long as the client is used.

        Args:
            stream: the first connection, from :meth:`open`.
        """
        self._outgoing.widen_to(self._most_in_flight)
        try:
            while True:
                began = anyio.current_time()
                await self._converse(stream)
                lasted = anyio.current_time() - began
                self._count_loss(lasted)
                if lasted < RETRY_INTERVAL:
                    await anyio.sleep(RETRY_INTERVAL - lasted)  # it may hang up at once again
                stream = await self._reopen()
                self._outgoing.narrow(self._most_in_flight)
        finally:
            self._closed = True
            for waiting in self._waiting.values():
                waiting.end(None, NotRunning("this client was closed before the daemon had replied"))

    async def _reopen(self) -> SocketStream:
        """Reconnect as soon as a call is waiting; if that takes longer than ``patience``, fail all calls."""
        while True:
            while not self._waiting:
                await self._wanted.wait()
            error: ReelError = NotRunning(f"the daemon on {self.path} went away and did not come back")
            until = anyio.current_time() + self._patience
            with anyio.move_on_after(max(self._patience, ATTEMPT)):
                while isinstance(error, NotRunning | ShuttingDown):
                    try:
                        return await self.open()
                    except ReelError as refused:
                        error = refused
                    if anyio.current_time() >= until:
                        break
                    await anyio.sleep(RETRY_INTERVAL)
            for waiting in self._waiting.values():
                waiting.end(None, error)
            self._waiting.clear()

    def _count_loss(self, lasted: float) -> None:
        """Fail the calls that were sent again and again for as long as ``patience``, each time in vain.

        Args:
            lasted: how long the connection lasted, in seconds. The time begins anew after one that was not short.
        """
        now = anyio.current_time()
        for number, waiting in list(self._waiting.items()):
            if not waiting.is_sent:
                continue
            if waiting.give_up_at is None or lasted > self._patience:
                waiting.give_up_at = now + self._patience
            if now >= waiting.give_up_at:
                del self._waiting[number]
                waiting.end(None, NotRunning(f"the daemon on {self.path} went away: connection closed"))

    @property
    def _most_in_flight(self) -> int | None:
        return None if self.server is None else self.server.limits.get("in_flight")

    async def open(self) -> SocketStream:
        """Connect and greet."""
        with self._limit.within(f"what listens on {self.path} did not answer within"):
            return await self._open()

    async def _open(self) -> SocketStream:
        stream = await self._reach()
        try:
            await self._greet(stream)
        except BaseException as error:
            await anyio.aclose_forcefully(stream)
            if isinstance(error, LOST):
                raise NotRunning(f"the daemon on {self.path} hung up") from error
            raise
        return stream

    async def _reach(self) -> SocketStream:
        """Open a connection; with ``autostart``, start a daemon if none answers."""
        try:
            stream = await self._dial()
        except OSError as error:
            raise connection_refused(self.path, error) from error
        try:
            require_trusted(stream.extra(SocketAttribute.raw_socket), self.path)
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise
        return stream

    async def _dial(self) -> SocketStream:
        try:
            return await anyio.connect_unix(self.path)
        except OSError:
            for other in sockets_by_lock(self.path):
                with suppress(OSError):
                    return await anyio.connect_unix(other)
            if not self._autostart:
                raise
            from reel.daemon.starting import autostart  # noqa: PLC0415 - subprocess is only needed to start a daemon

            with self._limit.paused():
                await anyio.to_thread.run_sync(partial(autostart, self.path))
            return await anyio.connect_unix(self.path)

    async def _greet(self, stream: SocketStream) -> None:
        self._framing = MessagePack(MAX_REPLY)
        hello = greeting(self._name)
        await stream.send(self._framing.request(0, hello.method, [hello.params]))
        while True:
            for answer in self._answers(await stream.receive(RECEIVED)):
                if answer.error is not None:
                    raise from_wire(answer.error)
                self.server = hello.read(answer.result)
                return

    async def _converse(self, stream: SocketStream) -> None:
        """Send the queued requests and hand out responses, until the connection is lost."""
        self._outgoing.begin(self._waiting.values())
        self._mail.set()
        self._connected = True
        failed: ParseError | None = None
        try:
            async with stream, anyio.create_task_group() as tasks:
                tasks.start_soon(self._send, stream)
                try:
                    await self._hand_out(stream)
                except ParseError as error:
                    failed = error  # not repeated, because the same invalid reply might come again
                tasks.cancel_scope.cancel()
        except* LOST:
            pass  # calls without a response are sent again
        finally:
            self._connected = False
        for number, waiting in list(self._waiting.items()):
            if failed is not None or waiting.method == "shutdown":
                del self._waiting[number]
                waiting.end(None, failed)

    async def _send(self, stream: SocketStream) -> None:
        while True:
            await self._mail.wait()
            while data := self._outgoing.take(self._waiting):
                await stream.send(data)

    async def _hand_out(self, stream: SocketStream) -> None:
        while True:
            # By a function of its own: a variable here would keep the last call in memory until the next response.
            self._hand_out_all(self._answers(await stream.receive(RECEIVED)))

    def _hand_out_all(self, answers: list[Response]) -> None:
        for answer in answers:
            error = None if answer.error is None else from_wire(answer.error)
            if answer.id is not None and self._outgoing.answered(answer.id):
                self._mail.set()
            if isinstance(error, ShuttingDown):
                continue  # it was not carried out; it is sent again when the daemon is back
            if answer.id is None:
                for waiting in self._waiting.values():
                    waiting.end(None, error)
            elif (found := self._waiting.get(answer.id)) is not None:
                found.end(answer.result, error)

    def _answers(self, data: bytes) -> list[Response]:
        frames = self._framing.feed(data)
        for frame in frames:
            if isinstance(frame, InvalidFrame):
                raise ParseError(f"what {self.path} sent is not a reply: {frame.error.message}")
        return [frame for frame in frames if isinstance(frame, Response)]
