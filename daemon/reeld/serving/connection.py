"""One connection: bytes to calls, calls to handlers, answers to bytes.

Three tasks. The *reader* never waits for a handler: it admits what it reads, or refuses it with ``busy``. What
can be handed to a live agent at once is; everything else, and what came after it, is done in order by the
*worker*, so that the requests of one connection take effect in the order in which they were sent. The *sender*
sends whatever waits in the outbox, all of it in one piece. Subscriptions that catch up and requests that step
aside have tasks of their own.

What an agent was asked for is done even when the peer has vanished; its answer then goes nowhere.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import anyio
from anyio.abc import ByteStream, TaskGroup

from reel.errors import Busy, Internal, MethodNotFound, NotFound, ReelError, ShuttingDown
from reel.frames import Frame, Framing, InvalidFrame, Notification, Request, Response
from reel.session import detect
from reeld.agents.agent import Agent
from reeld.agents.idempotency import digest, repeated
from reeld.agents.mail import Keyed, Look, Terms, Turn, Write
from reeld.core.state import Profile
from reeld.serving.admission import Admission
from reeld.serving.call import Aside, Call, Desk, Limits, Result, Work
from reeld.serving.greeting import Greeting
from reeld.serving.handlers.async_call import call_of
from reeld.serving.liveness import until_closed
from reeld.serving.load import Load
from reeld.serving.methods import METHODS, Method
from reeld.serving.outbox import Outbox
from reeld.serving.replies import Answers
from reeld.serving.subscriptions import Subscriptions

log = logging.getLogger(__name__)

_CHUNK = 1 << 16
_EXPECTED = (
    b"reeld speaks MessagePack-RPC, and JSON-RPC 2.0 one message a line or behind Content-Length;"
    b" see docs/protocol.md\n"
)
# Pushes in a row that Neovim fails on before they end.
_COMPLAINTS = 10

_MAIL = (Write, Look, Turn)

# Does something later, and answers by itself where it gives None.
_Slow: TypeAlias = Callable[[], Awaitable[Result | None]]


class Connection:
    """A connection's state; :meth:`serve` runs it.

    Args:
        stream: the bytes; closed at the end.
        number: what the daemon calls this connection.
        desk: what handlers work with.
        load: what all connections have in flight, and what waits on them.
        limits: what may be in flight, and wait to be read.
    """

    def __init__(self, stream: ByteStream, number: int, desk: Desk, load: Load, limits: Limits) -> None:
        self.number = number
        self.client: str | None = None
        self.limits = limits
        self.closing = False
        self._stream = stream
        self._desk = desk
        self._load = load
        self._in_flight = Admission(load, limits)
        # Bytes of an incomplete message.
        self._held = 0
        self._queue: deque[tuple[Call, Callable[[], _Slow | None]]] = deque()
        self._work = anyio.Event()
        self._outbox = Outbox(number, limits, load, self._hang_up, self._sent)
        self._answers = Answers(number, self._outbox, limits.unread, self._hang_up)
        self.subscriptions = Subscriptions(self, desk.registry.hub, desk.store, limits.subscriptions, self._group)
        self._asides: set[anyio.CancelScope] = set()
        self._settled = anyio.Event()
        self._scope = anyio.CancelScope()
        # Where what has a task of its own runs, while there is somebody to talk to.
        self._tasks: TaskGroup | None = None
        self._complaints = 0
        # Nobody is at the other end any more.
        self._gone = False

    async def serve(self) -> None:
        """Serve until the peer closes its end or is lost, and what it asked for is done."""
        self._load.bearers.add(self)
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
                self._scope, self._tasks = tasks.cancel_scope, tasks
                tasks.start_soon(self._outbox.send, self._stream)
                tasks.start_soon(self._watch)
                await self._receive()
                tasks.start_soon(self._notice_end)
                await self.finish()
                self.subscriptions.end_all()  # or there might always be more to send
                await self.drain()
                tasks.cancel_scope.cancel()
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            log.debug("connection=%d was lost", self.number)
        finally:
            self._hang_up()

    def _group(self) -> TaskGroup | None:
        """Where tasks can still be started: a group that ends takes no more, even before it is over."""
        return None if self._tasks is None or self._tasks.cancel_scope.cancel_called else self._tasks

    @property
    def waiting(self) -> int:
        """How many bytes wait: of what the peer has not read, and of a message that is incomplete."""
        return self._outbox.waiting + self._held

    def drop(self) -> None:
        """End at once, and let go of what waits."""
        self._hang_up()

    def _hang_up(self) -> None:
        self._gone = True
        self._load.waiting -= self._held
        self._held = 0
        self.framing.discard()  # what it keeps may be much, and nobody knows when the connection itself is collected
        self._tasks = None
        self._answers.close()
        self._outbox.close()
        self.subscriptions.end_all()
        self._asides.clear()  # their tasks end here, and some of them have not even begun
        self._desk.drafts.end_all(self.number)
        self._settled.set()
        self._scope.cancel()

    def _leave(self) -> None:
        """Forget the calls that nobody waits for any more."""
        self.closing = True
        self._load.bearers.discard(self)
        self._in_flight.give_up()
        self._queue.clear()

    async def drain(self) -> None:
        """Wait until every call is answered and every answer sent."""
        while self._busy or self._answers.held or not self._outbox.empty:
            await self._next_settled()

    async def finish(self) -> None:
        """Wait until every call is answered, whether the peer reads that or not."""
        while self._busy:
            await self._next_settled()

    @property
    def _busy(self) -> bool:
        return bool(self._in_flight.requests or self._asides)

    async def _next_settled(self) -> None:
        if self._settled.is_set():
            self._settled = anyio.Event()  # not sooner: somebody else may wait for it, too
        await self._settled.wait()

    def refuse_more(self) -> None:
        """Answer what comes from now on with ``shutting_down``, and what has stepped aside as well."""
        self.closing = True
        for scope in self._asides:
            scope.cancel()

    def say_bye(self, reason: str) -> None:
        """Tell a subscriber that nothing will come any more."""
        if self.subscriptions:
            self._outbox.push_soon("bye", self.framing.notify("bye", {"reason": reason}))

    # --- the reader

    async def _receive(self) -> None:
        try:
            data = await self._stream.receive(_CHUNK)
            framing = detect(data[0], self.limits.message, self.limits.values)
            if framing is None:
                self._outbox.post(_EXPECTED)
                return
            self._answers.framing = framing
            while self._take(self.framing.feed(data)):
                self._hold(self.framing.held)
                data = await self._stream.receive(_CHUNK)
        except anyio.EndOfStream:
            self._take(self.framing.end())

    def _hold(self, held: int) -> None:
        """Note how much of an incomplete message is kept."""
        if held != self._held:
            more, self._held = held - self._held, held
            self._load.hold(more, self.limits.all_waiting)

    def _take(self, frames: list[Frame]) -> bool:
        """Take what arrived; tell whether the connection goes on."""
        alive = True
        for frame in frames:
            kind = type(frame)
            if kind is Request:
                self._admit(Call(self, frame.id, frame.method, frame.size), frame.params)  # type: ignore[union-attr]
            elif kind is Notification:
                self._admit(*call_of(self, frame))  # type: ignore[arg-type]
            elif isinstance(frame, InvalidFrame):
                self._answers.tell_broken(frame.error)
                alive = alive and not frame.fatal
            elif isinstance(frame, Response):
                log.debug("connection=%d answered a call that was never made", self.number)
        self._desk.registry.advance()
        return alive and not self._gone

    def _admit(self, call: Call, params: Any) -> None:
        """Take a call on, or refuse it: what is taken of the calls in flight is always a prefix."""
        if call.method.startswith("$/"):
            return  # an editor's own affairs, which nobody has to know
        if call.method == "nvim_error_event" and call.number is None:
            self._complain(params)
            return
        self._complaints = 0
        self._answers.expect(call)
        if not self._in_flight.allows(call) or self.closing:
            self._load.refused += 1
            self._answers.tell(call, ShuttingDown(_STOPPING) if self.closing else Busy(_BUSY))
            return
        self._in_flight.take(call)
        if self._queue:
            self._queue.append((call, partial(self._begin, call, params)))
        elif (slow := self._begin(call, params)) is not None:
            self._queue.append((call, partial(_same, slow)))
            self._work.set()

    def _complain(self, params: Any) -> None:
        """Note that Neovim failed on a push; who fails on all of them is spared more."""
        self._complaints += 1
        log.warning("connection=%d its Neovim failed on what it was told", self.number)
        log.debug("connection=%d its Neovim says %r", self.number, params)
        if self._complaints == _COMPLAINTS and self.subscriptions:
            log.warning("connection=%d failed %d times in a row; its subscriptions end", self.number, _COMPLAINTS)
            self.subscriptions.end_all()

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
        if self._in_flight.overtaxed:
            raise Busy(_BUSY)
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
        elif isinstance(work, Aside):
            self._step_aside(call, work)
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

    # --- what has a task of its own

    def _step_aside(self, call: Call, aside: Aside) -> None:
        """Let a request wait without holding up anything."""
        if self.closing:
            raise ShuttingDown(_STOPPING)
        if len(self._asides) >= self.limits.asides:
            raise Busy("too many requests of this connection wait for something to happen; let some of them end")
        self._in_flight.release(call)
        call.aside = True
        if (tasks := self._group()) is None:
            self._settled.set()  # nobody is there who would wait
            return
        scope = anyio.CancelScope()
        self._asides.add(scope)
        tasks.start_soon(self._wait_aside, call, aside, scope)

    async def _wait_aside(self, call: Call, aside: Aside, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._finish(call, aside.run)
            if scope.cancelled_caught:
                call.answer(ShuttingDown(_STOPPING))
        finally:
            self._asides.discard(scope)
            self._settled.set()

    def draft(self, profile: Profile, text: str) -> None:
        """Show the others what the peer is writing, while it is there."""
        if not self._gone:
            self._desk.drafts.write(self.number, profile, text)

    def push(self, data: bytes) -> bool:
        """Queue a push; tell whether there was room for it."""
        return self._outbox.push(data)

    def push_soon(self, key: object, data: bytes) -> None:
        """Queue a push as soon as there is room; of those with one key, the newest."""
        self._outbox.push_soon(key, data)

    async def room(self) -> None:
        """Wait until something of what was queued has been sent."""
        await self._outbox.room()

    def _sent(self) -> None:
        """Tell subscriptions that missed something so, now that there is room."""
        self.subscriptions.settle()
        self._answers.note_sent()
        self._settled.set()

    # --- answers

    @property
    def framing(self) -> Framing:
        """How the peer speaks."""
        return self._answers.framing

    def greet(self, greeting: Greeting) -> None:
        """Remember who is at the other end, and how it wants to be talked to."""
        self.client = greeting.client or self.client
        self._answers.greet(greeting, self._group())

    def settle(self, call: Call, outcome: Result | ReelError) -> None:
        """Send what came of a call."""
        if not call.aside:
            if not self._in_flight.requests:
                return  # the connection has been left
            self._in_flight.overtaxed |= isinstance(outcome, Busy)
            self._in_flight.release(call)
        if call.replaced and isinstance(outcome, dict):
            outcome = {**outcome, "replaced": call.replaced}
        self._answers.tell(call, outcome)
        self._settled.set()

    async def _notice_end(self) -> None:
        """Drop a peer that will ask no more and is gone: nobody wants what is still waited for."""
        await until_closed(self._stream)
        self._scope.cancel()

    async def _watch(self) -> None:
        """Drop a peer that does not read."""
        await self._outbox.watch()
        self._scope.cancel()


def _same(slow: _Slow) -> _Slow:
    return slow


_BUSY = "too much is in flight on this connection; go on when what it asked for has been answered"
_STOPPING = "the daemon is stopping; ask again when it is back"
