"""One connection: bytes to calls, calls to handlers, answers to bytes.

Three tasks. The *reader* never waits for a handler: it admits what it reads, or refuses it with ``busy``. What
can be handed to a live agent at once is; everything else, and what came after it, is done in order by the
*worker*, so that the requests of one connection take effect in the order in which they were sent. The *sender*
sends whatever waits in the outbox, all of it in one piece.

What an agent was asked for is done even when the peer has vanished; its answer then goes nowhere.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import anyio
from anyio.abc import ByteStream

from reel.errors import Busy, Internal, MethodNotFound, NotFound, ReelError, ShuttingDown
from reel.session import Answer, Broken, Framing, MessagePack, Notification, Request, detect
from reeld.agents.agent import Agent
from reeld.agents.keys import digest, repeated
from reeld.agents.mail import Keyed, Look, Terms, Turn, Write
from reeld.serving.call import Call, Desk, Limits, Result, Work
from reeld.serving.methods import METHODS, Method

log = logging.getLogger(__name__)

_CHUNK = 1 << 16
# What is sent in one piece; a peer that reads slowly is judged by the piece.
_PIECE = 1 << 18
_EXPECTED = b"reeld speaks MessagePack-RPC here: [0, id, method, params]; see docs/protocol.md\n"

_MAIL = (Write, Look, Turn)

# Does something later, and answers by itself where it gives None.
_Slow: TypeAlias = Callable[[], Awaitable[Result | None]]


class Load:
    """What all connections have in flight together."""

    def __init__(self) -> None:
        self.bytes = 0
        self.requests = 0
        self.refused = 0


class Connection:
    """A connection's state; :meth:`serve` runs it.

    Args:
        stream: the bytes; closed at the end.
        number: what the daemon calls this connection.
        desk: what handlers work with.
        load: what all connections have in flight.
        limits: what may be in flight, and wait to be read.
    """

    def __init__(self, stream: ByteStream, number: int, desk: Desk, load: Load, limits: Limits) -> None:
        self.number = number
        self.client: str | None = None
        self.framing: Framing = MessagePack()
        self.limits = limits
        self.closing = False
        self._stream = stream
        self._desk = desk
        self._load = load
        self._requests = 0
        self._bytes = 0
        self._refusing = False
        self._queue: deque[tuple[Call, Callable[[], _Slow | None]]] = deque()
        self._work = anyio.Event()
        self._outbox: list[bytes] = []
        self._unread = 0
        self._sending = False
        self._pieces = 0
        self._mail = anyio.Event()
        self._settled = anyio.Event()
        self._scope = anyio.CancelScope()
        # Nobody is at the other end any more.
        self._gone = False

    async def serve(self) -> None:
        """Serve until the peer closes its end or is lost, and what it asked for is done."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._work_through)
                await self._talk()
                await self.drain()
                tasks.cancel_scope.cancel()
        finally:
            self._leave()

    async def _talk(self) -> None:
        """Read and send until the peer has its answers, or is lost; nothing is sent from then on."""
        try:
            async with self._stream, anyio.create_task_group() as tasks:
                self._scope = tasks.cancel_scope
                tasks.start_soon(self._send)
                tasks.start_soon(self._watch)
                await self._receive()
                await self.drain()
                tasks.cancel_scope.cancel()
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            log.debug("connection=%d was lost", self.number)
        self._hang_up()

    def _hang_up(self) -> None:
        self._gone = True
        self._outbox.clear()
        self._unread = 0
        self._settled.set()
        self._scope.cancel()

    def _leave(self) -> None:
        """Give back what the calls that nobody waits for any more have reserved."""
        self.closing = True
        self._load.bytes -= self._bytes
        self._load.requests -= self._requests
        self._bytes = self._requests = 0
        self._outbox.clear()
        self._queue.clear()

    async def drain(self) -> None:
        """Wait until every call is answered and every answer sent."""
        while self._requests or self._outbox or self._unread:
            if self._settled.is_set():
                self._settled = anyio.Event()  # not sooner: somebody else may wait for it, too
            await self._settled.wait()

    def refuse_more(self) -> None:
        """Answer what comes from now on with ``shutting_down``."""
        self.closing = True

    # --- the reader

    async def _receive(self) -> None:
        try:
            data = await self._stream.receive(_CHUNK)
            framing = detect(data[0])
            if framing is None:
                self._post(_EXPECTED)
                return
            self.framing = framing
            while True:
                if not self._take(data):
                    return
                data = await self._stream.receive(_CHUNK)
        except anyio.EndOfStream:
            return

    def _take(self, data: bytes) -> bool:
        """Take what arrived; tell whether the connection goes on."""
        alive = True
        for frame in self.framing.feed(data):
            kind = type(frame)
            if kind is Request:
                self._admit(Call(self, frame.id, frame.method, frame.size), frame.params)  # type: ignore[union-attr]
            elif kind is Notification:
                self._admit(Call(self, None, frame.method, frame.size), frame.params)  # type: ignore[union-attr]
            elif isinstance(frame, Broken):
                self._post(self.framing.refuse(None, frame.error))
                alive = alive and not frame.fatal
            elif isinstance(frame, Answer):
                log.debug("connection=%d answered a call that was never made", self.number)
        self._desk.registry.advance()
        return alive and not self._gone

    def _admit(self, call: Call, params: Any) -> None:
        """Take a call on, or refuse it: what is taken of the calls in flight is always a prefix."""
        limits, load = self.limits, self._load
        if not self._requests:
            self._refusing = False
        self._refusing = (
            self._refusing
            or self._requests >= limits.requests
            or (self._requests > 0 and self._bytes + call.size > limits.bytes)
            or (load.requests > 0 and load.bytes + call.size > limits.all_bytes)
        )
        if self._refusing or self.closing:
            self._load.refused += 1
            self._refuse(call, ShuttingDown(_STOPPING) if self.closing else Busy(_BUSY))
            return
        self._requests += 1
        self._bytes += call.size
        load.requests += 1
        load.bytes += call.size
        if self._queue:
            self._queue.append((call, partial(self._begin, call, params)))
        elif (slow := self._begin(call, params)) is not None:
            self._queue.append((call, partial(_same, slow)))
            self._work.set()

    def _begin(self, call: Call, params: Any) -> _Slow | None:
        """Hand a call to its handler; give what is left to wait for."""
        try:
            return self._hand_over(call, params)
        except ReelError as error:
            call.answer(error)
        except Exception:
            log.exception("connection=%d method=%s failed", self.number, call.method)
            call.answer(Internal("the request failed; the daemon's log says why"))
        return None

    def _hand_over(self, call: Call, params: Any) -> _Slow | None:
        method = METHODS.get(call.method)
        if method is None:
            raise MethodNotFound(f"no method {call.method}; the method methods lists them", method=call.method)
        values, call.replaced = method.signature.bind(params)
        if method.about_agent:
            address, *values = values
            arguments = self._arguments(method, values, values)
            agent = self._desk.registry.get(address)
            if agent is None:
                return partial(self._find, call, method, address, arguments)
            return self._do(call, agent, method.handler(self._desk, call, agent, *arguments))
        return self._do(call, None, method.handler(self._desk, call, *self._arguments(method, values, values)))

    def _arguments(self, method: Method, values: list[Any], content: list[Any]) -> list[Any]:
        """Put a command's terms in front of its own parameters."""
        if not method.writes:
            return values
        *own, if_seq, key = values
        keyed = None if key is None else Keyed(key, digest(method.name, content[:-2]))
        return [Terms(if_seq, keyed, self.client), *own]

    def _do(self, call: Call, agent: Agent | None, work: Work) -> _Slow | None:
        """Answer at once, post mail, or give what is left to wait for."""
        if isinstance(work, _MAIL):
            assert agent is not None, "mail is for an agent"  # noqa: S101 - the method table sees to it
            agent.post(work)
            self._desk.registry.posted(agent)
        elif isinstance(work, dict):
            call.answer(work)
        else:
            return work
        return None

    async def _find(self, call: Call, method: Method, address: str, arguments: list[Any]) -> Result | None:
        """Start the agent that a call is about, and go on."""
        try:
            agent = await self._desk.registry.find(address)
        except NotFound as error:
            if method.missing is not None:
                return await method.missing(self._desk, address, *arguments)
            return await repeated(self._desk.store, arguments[0].keyed if method.writes else None, error)
        slow = self._do(call, agent, method.handler(self._desk, call, agent, *arguments))
        return None if slow is None else await slow()

    # --- the worker

    async def _work_through(self) -> None:
        while True:
            await self._work.wait()
            self._work = anyio.Event()
            while self._queue:
                call, begin = self._queue[0]
                slow = begin()
                if slow is not None:
                    await self._finish(call, slow)
                self._desk.registry.advance()
                self._queue.popleft()

    async def _finish(self, call: Call, slow: _Slow) -> None:
        try:
            result = await slow()
        except ReelError as error:
            call.answer(error)
        except Exception:
            log.exception("connection=%d method=%s failed", self.number, call.method)
            call.answer(Internal("the request failed; the daemon's log says why"))
        else:
            if result is not None:
                call.answer(result)

    # --- the sender

    def greet(self, client: str | None, errors: str | None) -> None:
        """Remember who is at the other end, and how it wants its errors."""
        self.client = client or self.client
        if errors is not None and isinstance(self.framing, MessagePack):
            self.framing.error_maps = errors == "map"

    def settle(self, call: Call, outcome: Result | ReelError) -> None:
        """Send what came of a call."""
        if not self._requests:
            return  # the connection has been left
        self._requests -= 1
        self._bytes -= call.size
        self._load.requests -= 1
        self._load.bytes -= call.size
        if isinstance(outcome, ReelError):
            self._refuse(call, outcome)
        elif call.number is not None:
            self._post(self._encode(call.number, {**outcome, "replaced": call.replaced} if call.replaced else outcome))
        self._settled.set()

    def _encode(self, number: int, result: Result) -> bytes:
        """Encode a result; one that cannot be is a bug, and nobody's but the caller's trouble."""
        try:
            return self.framing.answer(number, result)
        except Exception:
            log.exception("connection=%d cannot be told its answer", self.number)
            log.debug("connection=%d cannot be told %r", self.number, result)
            return self.framing.refuse(number, Internal("the answer cannot be encoded; the daemon's log has it"))

    def _refuse(self, call: Call, error: ReelError) -> None:
        if call.number is not None:
            self._post(self.framing.refuse(call.number, error))
        else:
            log.warning("connection=%d notification=%s failed: %s", self.number, call.method, error)

    def _post(self, data: bytes) -> None:
        """Queue bytes; a peer that lets too much pile up is dropped."""
        if self._gone:
            return
        if self._outbox and self._unread + len(data) > self.limits.unread:
            log.warning("connection=%d does not read; %d bytes wait; closing it", self.number, self._unread)
            self._hang_up()
            return
        self._outbox.append(data)
        self._unread += len(data)
        self._mail.set()

    async def _send(self) -> None:
        while True:
            await self._mail.wait()
            self._mail = anyio.Event()
            while self._outbox:
                data = self._outbox[0] if len(self._outbox) == 1 else b"".join(self._outbox)
                self._outbox.clear()
                await self._send_all(data)
                self._unread -= len(data)
            self._settled.set()

    async def _send_all(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            self._sending = True
            await self._stream.send(data[start : start + _PIECE])
            self._sending = False
            self._pieces += 1

    async def _watch(self) -> None:
        """Drop a peer that takes nothing of what is being sent to it; a limit on each send would cost more."""
        while True:
            pieces, sending = self._pieces, self._sending
            await anyio.sleep(self.limits.stall)
            if sending and self._pieces == pieces:
                log.warning("connection=%d has read nothing for %g s; closing it", self.number, self.limits.stall)
                self._scope.cancel()


def _same(slow: _Slow) -> _Slow:
    return slow


_BUSY = "too much is in flight on this connection; go on when what it asked for has been answered"
_STOPPING = "the daemon is stopping; ask again when it is back"
