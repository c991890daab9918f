"""From calls to outcomes: admit, bind the parameters, run the handler, settle.

The requests of one connection take effect in the order in which they were sent. A request that can be given to a
live agent at once is; a request that must await something is ``Deferred``, and it and everything behind it are done
one after the other by the *worker*. A ``Detached`` request (``wait``, ``verify``) leaves that order: it has a task
of its own and holds up nothing.

If several daemons share a database, a call begins once everything that others committed before it is known. A call that
only moves the tip forward does not wait for that: its commit detects a conflict, and the agent stages it again. If
another daemon has given its address to another agent, the call begins again.

Every outcome goes through :meth:`Dispatcher.settle`. There the key of a failed command is looked up first: a command
that was applied before gets its first reply instead of the error.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import anyio
from anyio.abc import TaskGroup

from reel.errors import Busy, Internal, MethodNotFound, NotFound, ReelError, ShuttingDown, no_memory
from reel.frames import Id, Request
from reel.msgpack_codec import unpack
from reel.wakeup import Signal
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions, IdempotencyKey, key_of, repeated
from reeld.agents.jobs import Job, Write, WriteTexts
from reeld.agents.packing import loop_packer
from reeld.protocol.signature import given
from reeld.serving.call import Call, Deferred, Detached, Outcome, Peer, Result, Services, Work
from reeld.serving.flow import InFlight, Limits, Traffic, do_nothing
from reeld.serving.methods import METHODS, Method
from reeld.serving.plain_adds import PlainAdd, TextCalls, plain_add
from reeld.store.transactions import DivergedError

log = logging.getLogger(__name__)

# The part of a call that awaits something; it answers the call itself, or raises.
_Rest: TypeAlias = Callable[[], Awaitable[None]]

_BUSY = "too much is in flight on this connection; continue when some of it has been answered"
_TOO_MANY_WAITS = "too many requests of this connection wait for something to happen; let some of them end"
_STOPPING = "the daemon is stopping; retry when it is back"
# The parameters of `add` after `messages` and `create` that are its own, as they are if they were left out.
_REST_OF_ADD = (None,) * (len(METHODS["add"].signature.params) - len(("agent", "messages", "create", "if_seq", "key")))
_BUG = "the request failed; the daemon's log has the reason"
# Some handlers are imported when they are first called; after an update their modules may be newer than the loaded
# ones.
_UPDATED = "reeld was updated while it was running; restart it with: reel stop; reel start"


class _Pending(NamedTuple):
    """A call that waits for its turn, or the rest of one that has begun."""

    call: Call
    rest: _Rest | None = None


class Dispatcher:
    """Runs the calls of one connection.

    Args:
        services: what handlers work with.
        traffic: what all connections have in flight.
        limits: what one may have.
        reply: queues the outcome of a call.
        reply_all: queues the results of requests.
        start_soon: starts a task that ends with the peer; returns whether there is still a peer.
        on_settled: called whenever a call is settled.
    """

    def __init__(
        self,
        services: Services,
        traffic: Traffic,
        limits: Limits,
        reply: Callable[[Call, Outcome], None],
        reply_all: Callable[[Sequence[Id], Sequence[Result | bytes]], None],
        start_soon: Callable[..., bool],
        on_settled: Callable[[], None],
    ) -> None:
        self._services = services
        self._registry = services.registry
        self._traffic = traffic
        self._limits = limits
        self._reply = reply
        self._reply_all = reply_all
        self._start_soon = start_soon
        self._on_settled = on_settled
        self._in_flight = InFlight(traffic, limits)
        # Calls in their order, and whether the worker is busy with one before these.
        self._pending: deque[_Pending] = deque()
        self._is_at_work = False
        # How many posted jobs may be sent back, because other daemons write to the same database; and their address and
        # agent. All other calls wait for these jobs.
        self._ahead = 0
        self._ahead_to: tuple[str | None, Agent | None] = (None, None)
        # How many calls arrived, and how many of them did so before it was known what other daemons had committed.
        self._arrived = 0
        self._current = 0
        self._is_shared = services.store.is_shared
        self._wake = Signal()
        self._has_worker = False
        # The requests that the next one may join if it also adds a plain text to the same agent.
        self._texts: TextCalls | None = None
        self._shared = CommandOptions()
        self._detached: set[anyio.CancelScope] = set()
        self._stopping = False
        self._tasks: TaskGroup | None = None
        self.answered = 0

    @property
    def in_flight(self) -> int:
        """How many calls have not been answered, including detached ones."""
        return self._in_flight.requests + len(self._detached)

    @property
    def busy(self) -> bool:
        """Whether any call has not been answered."""
        return bool(self.in_flight)

    # --- from outside

    def open(self, tasks: TaskGroup) -> None:
        """Run what has to await something in tasks of this group.

        The worker starts with the first such call: a task takes 5 KB, and many connections only add.
        """
        self._tasks = tasks

    def take_text(self, peer: Peer, request: Request) -> bool:
        """Take a request that adds one plain text to a live agent, if nothing is queued before it.

        Consecutive ones become one job of the agent.

        Returns:
            whether it was taken; if not, it must be submitted.
        """
        if self._pending or self._is_at_work or self._stopping:
            return False
        number, _, params, size = request
        found = plain_add(params)
        if found is None:
            return False
        address, kind, content, _, _, key = found
        texts = self._texts
        if texts is None or texts.address != address:
            if self._is_shared and self._in_flight.requests:
                return False
            agent = self._registry.get(address)
            if agent is None or not agent.has_room:
                return False
            texts = TextCalls(peer, address, agent, self._arrived + 1, self._settle_texts)
        if not self._in_flight.admit(size):
            return False
        self._arrived += 1
        if self._is_shared:
            self._ahead += 1
            self._ahead_to = address, texts.agent
        if texts is not self._texts:
            self._texts = texts
            self._registry.post(texts.agent, texts)
        texts.numbers.append(number)
        texts.sizes.append(size)
        texts.params.append(params)
        texts.texts.append((kind, content))
        texts.keys.append(None if key is None else self._key_of(found, texts.agent))
        return True

    def end_texts(self) -> None:
        """Let no later request join those that were taken, because something else comes in between."""
        self._texts = None

    def submit(self, call: Call, params: Any) -> None:
        """Run a call now or when its turn comes, or refuse it."""
        self._texts = None
        if self._stopping or not self._in_flight.admit(call.size):
            self._refuse(call)
            return
        call.began = monotonic()
        self._arrived += 1
        call.place, call.params = self._arrived, params
        if self._pending or self._is_at_work or self._ahead:
            self._pending.append(_Pending(call))
            return
        rest = self._begin(call)
        if rest is not None:
            self._pending.append(_Pending(call, rest))
            self._wake_worker()

    def _wake_worker(self) -> None:
        if not self._has_worker and self._tasks is not None:
            self._has_worker = True
            self._tasks.start_soon(self._work)
        self._wake.set()

    def _refuse(self, call: Call) -> None:
        error = ShuttingDown(_STOPPING) if self._stopping else Busy(_BUSY)
        self._traffic.refused += 1
        self._traffic.errors[error.name] += 1
        self._reply(call, error)

    def refuse_more(self) -> None:
        """Answer new and detached calls with ``shutting_down`` from now on."""
        self._stopping = True
        for scope in self._detached:
            scope.cancel()

    def forget_detached(self) -> None:
        """Take note that the peer is gone: its detached calls end, including those that have not begun."""
        self._detached.clear()

    def close(self) -> None:
        """Drop the calls that nobody waits for any more, and the references to their connection."""
        self._stopping = True
        self._in_flight.clear()
        self._pending.clear()
        self._ahead, self._ahead_to = 0, (None, None)
        self._tasks = None
        self._on_settled = do_nothing

    # --- from a call to its handler

    def _begin(self, call: Call) -> _Rest | None:
        """Run the handler; return the part that is left to await."""
        try:
            return self._run_handler(call)
        except Exception as error:
            self._fail(call, error)
            return None

    def _run_handler(self, call: Call) -> _Rest | None:
        if self._in_flight.saturated:
            raise Busy(_BUSY)
        if call.method == "add" and self._add_plain_text(call):
            return None
        method = METHODS.get(call.method)
        if method is None:
            raise MethodNotFound(f"unknown method {call.method!r}; `methods` lists them", method=call.method)
        if not (method.is_about_the_daemon or self._may_begin(call, may_write_ahead=method.may_write_ahead)):
            return partial(self._begin_current, call)
        values, call.replaced = method.signature.bind(call.params)
        services = self._services
        if not method.needs_agent:
            return self._do(call, None, method.handler(services, call, *self._arguments(call, method, values)))
        address, *values = values
        agent = None if address is None else services.registry.get(address)
        if agent is None and address is not None:
            return partial(self._find_and_do, call, method, address, values)
        work = method.handler(services, call, agent, *self._arguments(call, method, values, address, agent))
        return self._do(call, agent, work, address)

    def _may_begin(self, call: Call, *, may_write_ahead: bool) -> bool:
        """Whether a call may begin before it is known what other daemons have committed.

        Such a call may have to begin again, so no other call may overtake it.
        """
        return self._is_current(call) or (may_write_ahead and self._in_flight.requests == 1)

    def _post(self, call: Call, agent: Agent, job: Job, address: str | None) -> None:
        """Give an agent a job. Before it runs, another daemon may give the address to another agent."""
        if self._is_shared:
            job = job if isinstance(job, WriteTexts) else job._replace(address=address)
            call.is_ahead = True
            self._ahead += 1
            self._ahead_to = (address, agent)
        self._registry.post(agent, job)

    def _joins(self, call: Call) -> bool:
        """Whether a call writes to the same address as the posted jobs: if they are sent back, so is this one."""
        method = METHODS.get(call.method)
        if method is None or not (method.may_write_ahead and self._is_current(call)):
            return False
        address, agent = self._ahead_to
        return _address_in(call.params) == address and self._registry.get(address or "") is agent

    def _end_ahead(self, count: int) -> None:
        """Resume other calls if no job is left that may be sent back."""
        self._ahead -= count
        if self._pending and not self._ahead:
            self._wake_worker()

    def _is_current(self, call: Call) -> bool:
        """Whether everything that any daemon committed before a call is known here."""
        return not self._is_shared or call.place <= self._current

    def _add_plain_text(self, call: Call) -> bool:
        """Post a request that adds one plain text to a live agent; return whether it is one."""
        found, peer = plain_add(call.params), call.peer
        if found is None:
            return False
        address, kind, content, _, _, _ = found
        agent = self._registry.get(address)
        if agent is None or not self._may_begin(call, may_write_ahead=True):
            return False
        call.key = self._key_of(found, agent)
        job = WriteTexts(address, peer.client, lambda _job, _first, outcomes: call.answer(outcomes[0]), peer.end_draft)
        job.texts.append((kind, content))
        job.keys.append(call.key)
        self._post(call, agent, job, address)
        return True

    def _key_of(self, found: PlainAdd, agent: Agent) -> IdempotencyKey | None:
        address, _, _, messages, create, key = found
        if key is None:
            return None
        return key_of(key, "add", (messages, create, *_REST_OF_ADD), address, agent.row)

    def _options(self, client: str | None) -> CommandOptions:
        """Return the options of a command that sets none; most commands share them."""
        if self._shared.client != client:
            self._shared = CommandOptions(client=client)
        return self._shared

    def _arguments(
        self, call: Call, method: Method, values: list[Any], address: str | None = None, agent: Agent | None = None
    ) -> list[Any]:
        """Return a handler's last arguments: a command's options, and the method's own parameters."""
        if not method.is_command:
            return [given(method.params, values)]
        *own, if_seq, key = (*values[:-1], None, values[-1]) if method.has_parts else values
        if key is not None:
            about = None if agent is None else agent.row
            call.key = key_of(key, method.name, own, address, about)
        client = call.peer.client
        if key is None and if_seq is None:
            return [self._options(client), given(method.params, own)]
        return [CommandOptions(if_seq, call.key, client), given(method.params, own)]

    async def _find_and_do(self, call: Call, method: Method, address: str, values: list[Any]) -> None:
        agent: Agent | None = None
        try:
            agent = await self._registry.find(address, alive=method.asks_to_create(values))
        except NotFound:
            arguments = self._arguments(call, method, values, address)  # its key is looked up before the error is sent
            if not (method.may_create or method.may_be_gone):
                raise
        else:
            arguments = self._arguments(call, method, values, address, agent)
        rest = self._do(call, agent, method.handler(self._services, call, agent or address, *arguments), address)
        if rest is not None:
            await rest()

    def _do(self, call: Call, agent: Agent | None, work: Work, address: str | None = None) -> _Rest | None:
        """Answer, post the job, or return the part that is left to await."""
        if isinstance(work, dict):
            call.answer(work)
        elif agent is not None and type(work) is not Write and not self._is_current(call):
            return partial(self._begin_current, call)
        elif isinstance(work, Deferred):
            return partial(self._await, call, work)
        elif isinstance(work, Detached):
            self._detach(call, work)
        else:
            assert agent is not None, "a job is for an agent"  # noqa: S101 - the method table sees to it
            self._post(call, agent, work, address)
        return None

    async def _await(self, call: Call, work: Deferred | Detached) -> None:
        call.answer(await work.run())

    async def _finish(self, call: Call, rest: _Rest) -> bool:
        """Await the rest of a call; return whether it has to begin again, because other daemons wrote meanwhile."""
        try:
            await rest()
        except DivergedError as error:
            if self._services.store.is_shared:
                return True
            self._fail(call, error)
        except Exception as error:
            self._fail(call, error)
        return False

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            while self._pending and (not self._ahead or self._joins(self._pending[0].call)):
                call, rest = self._pending.popleft()
                self._is_at_work = True
                rest = rest or self._begin(call)
                while rest is not None and await self._finish(call, rest):
                    rest = partial(self._begin_current, call)
                self._registry.pump()
                self._is_at_work = False
                del call, rest  # otherwise the last call would stay in memory until the next one comes

    async def _begin_current(self, call: Call) -> None:
        """Begin a call once it is known what other daemons committed before it; later calls wait."""
        arrived = self._arrived
        await self._services.store.be_current()
        self._current = arrived
        rest = self._run_handler(call)
        if rest is not None:
            await rest()

    def _begin_again(self, call: Call) -> None:
        """Begin a call again whose address meanwhile belongs to another agent."""
        later = (number for number, each in enumerate(self._pending) if each.call.place > call.place)
        self._pending.insert(next(later, len(self._pending)), _Pending(call, partial(self._begin_current, call)))
        self._wake_worker()

    # --- detached calls

    def _detach(self, call: Call, work: Detached) -> None:
        if self._stopping:
            raise ShuttingDown(_STOPPING)
        if len(self._detached) >= self._limits.asides:
            raise Busy(_TOO_MANY_WAITS)
        self._in_flight.remove(call.size)
        call.detached = True
        scope = anyio.CancelScope()
        if self._start_soon(self._run_detached, call, work, scope):
            self._detached.add(scope)
        else:
            self._on_settled()  # nobody waits for the answer

    async def _run_detached(self, call: Call, work: Detached, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._finish(call, partial(self._await, call, work))
            if scope.cancelled_caught:
                call.answer(ShuttingDown(_STOPPING))
        finally:
            self._detached.discard(scope)
            self._on_settled()

    # --- from an outcome to the reply

    def _fail(self, call: Call, error: Exception) -> None:
        """Answer with an exception of a handler: the one place that maps exceptions to errors of the protocol."""
        if isinstance(error, MemoryError):
            text = "connection=%d method=%s: there is not enough memory; refusing it"
            self._traffic.warnings.warn(call.peer.number, text, call.peer.number, call.method)
            error = no_memory()
        elif not isinstance(error, ReelError):
            log.error("connection=%d method=%s failed", call.peer.number, call.method, exc_info=error)
            error = Internal(_UPDATED if isinstance(error, ImportError) else _BUG)
        call.answer(error)

    def settle(self, call: Call, outcome: Outcome | DivergedError) -> None:
        """Reply with the outcome of a call; if a command with a key failed, the key is looked up first."""
        if isinstance(outcome, DivergedError):
            self._begin_again(call)
        if call.is_ahead:
            call.is_ahead = False
            self._end_ahead(1)
        if isinstance(outcome, DivergedError):
            return
        if isinstance(outcome, ReelError):
            # Their frames have the parameters, and some of them the error: this cycle would keep all of it in memory.
            outcome.__traceback__ = outcome.__context__ = outcome.__cause__ = None
            if isinstance(outcome, Busy):
                self._in_flight.saturated |= not call.detached
            elif call.key is not None and self._tasks is not None:
                self._tasks.start_soon(self._look_up, call, call.key, outcome)
                return
            self._traffic.errors[outcome.name] += 1
        elif call.replaced:
            outcome = {**(unpack(outcome) if isinstance(outcome, bytes) else outcome), "replaced": call.replaced}
        if not call.detached:
            if not self._in_flight.requests:
                return  # the connection is closed
            self._in_flight.remove(call.size)
        self._observe(call.method, call.began, 1)
        self._reply(call, outcome)
        loop_packer.forget(call.size)
        if call.then is not None:
            then, call.then = call.then, None  # it refers to the call: a cycle would keep both in memory
            if not isinstance(outcome, ReelError):
                then()
        self._on_settled()

    def _observe(self, method: str, began: float, count: int) -> None:
        seconds = self._traffic.request_seconds.get(method)
        if seconds is not None:
            seconds.observe(monotonic() - began, count)
        self.answered += count

    def _settle_texts(self, texts: TextCalls, first: int, outcomes: Sequence[Any]) -> None:
        """Do what :meth:`settle` does, at once for several requests that all succeeded."""
        count = len(outcomes)
        if isinstance(outcomes[0], Exception):
            for call, outcome in zip(texts.calls(first, count, self.settle), outcomes, strict=True):
                call.is_ahead = self._is_shared
                call.answer(outcome)
            return
        if not self._in_flight.requests:
            return  # the connection is closed
        size = sum(texts.sizes[first : first + count])
        loop_packer.forget(size)
        self._in_flight.remove(size, count)
        self._observe("add", texts.began, count)
        self._reply_all(texts.numbers[first : first + count], outcomes)
        if self._is_shared:
            self._end_ahead(count)
        self._on_settled()

    async def _look_up(self, call: Call, key: IdempotencyKey, error: ReelError) -> None:
        """Settle a refused command with its first reply if it was applied before."""
        try:
            outcome: Outcome = await repeated(self._services.store, key, error)
        except ReelError as refused:
            outcome = refused
        except Exception:
            log.exception("connection=%d the key of method=%s cannot be looked up", call.peer.number, call.method)
            outcome = Internal(_BUG)
        call.key = None  # it has been looked up
        self.settle(call, outcome)


def _address_in(params: Any) -> Any:
    """Return how a request names its agent."""
    first = params[0] if type(params) is list and params else params
    return first.get("agent") if type(first) is dict else first
