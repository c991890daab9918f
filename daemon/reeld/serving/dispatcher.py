"""From calls to outcomes: admit, bind the parameters, run the handler, settle.

The requests of one connection take effect in the order in which they were sent. A request that can be given to a live
agent at once is; a request that must await something is ``Deferred``, and it and everything behind it are done one
after the other (:mod:`reeld.serving.turns`). What awaits something only before it is given to its agent is
``Prepared``, and holds up the others until then. A ``Detached`` request (``wait``, ``verify``, ``backup``, ``search``)
leaves that order: it has a task of its own and holds up nothing.

Every outcome goes through :meth:`Dispatcher.settle`. There the key of a failed command is looked up first: a command
that was applied before gets its first reply instead of the error.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any

from anyio.abc import TaskGroup

from reel.base.errors import Busy, Internal, MethodNotFound, NotFound, ReelError, ShuttingDown, no_memory
from reel.base.installation import UPDATED, was_updated
from reel.wire.frames import Id
from reel.wire.msgpack_codec import unpack
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions, IdempotencyKey, key_of, repeated
from reeld.agents.jobs import Job
from reeld.agents.packing import loop_packer
from reeld.protocol.signature import given
from reeld.serving.call import Call, Deferred, Detached, Outcome, Posted, Prepared, Result, Services, Work
from reeld.serving.detached import DetachedCalls
from reeld.serving.flow import InFlight, Limits, Traffic, do_nothing
from reeld.serving.methods import METHODS, Method
from reeld.serving.plain_adds import PlainAdds
from reeld.serving.turns import Rest, Turns
from reeld.store.commit_faults import OvertakenError

log = logging.getLogger(__name__)

_BUSY = "too much is in flight on this connection; continue when some of it has been answered"
_STOPPING = "the daemon is stopping; retry when it is back"
# How often a call begins again, some milliseconds each: beside two daemons that write as fast as they can, a few times.
_MOST_OVERTAKEN = 100
_OVERTAKEN = (
    f"nothing was done: {_MOST_OVERTAKEN} times another daemon wrote to the agent first; retry when it writes less"
)
_BUG = "the request failed; the daemon's log has the reason"


class Dispatcher:
    """Runs the calls of one connection.

    Args:
        services: what handlers work with.
        traffic: what all connections have in flight.
        limits: what one may have.
        reply: queues the outcome of a call.
        reply_all: queues the results of requests.
        order_is_free: returns whether the peer takes replies in any order.
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
        order_is_free: Callable[[], bool],
        start_soon: Callable[..., bool],
        on_settled: Callable[[], None],
    ) -> None:
        self._services = services
        self._traffic = traffic
        self._reply = reply
        self._on_settled = on_settled
        self._in_flight = InFlight(traffic, limits)
        self._order_is_free = order_is_free
        # Takes the requests that add one plain text, before they are submitted.
        self.texts = PlainAdds(
            services.registry, self._in_flight, self.settle, self._note_settled, reply_all, self._may_take_texts
        )
        self._detached = DetachedCalls(limits, self._in_flight, start_soon, self._finish, self._note_end)
        self._turns = Turns(services.registry, self._begin, self._finish, self._fail, _needs_look)
        self._shared = CommandOptions()
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
        """Run what has to await something in tasks of this group."""
        self._tasks = tasks
        self._turns.open(tasks)

    def _may_take_texts(self) -> bool:
        return self._turns.are_free and not self._stopping and self._order_is_free()

    def submit(self, call: Call, params: Any) -> None:
        """Run a call now or when its turn comes, or refuse it."""
        self.texts.end()
        if self._stopping or not self._in_flight.admit(call.size):
            self._refuse(call)
            return
        call.began = monotonic()
        call.params = params
        self._turns.take(call)

    def _refuse(self, call: Call) -> None:
        error = ShuttingDown(_STOPPING) if self._stopping else Busy(_BUSY)
        self._traffic.refused += 1
        self._traffic.errors[error.name] += 1
        self._reply(call, error)

    def refuse_more(self) -> None:
        """Answer new and detached calls with ``shutting_down`` from now on."""
        self._stopping = True
        self._detached.cancel()

    def forget_detached(self) -> None:
        """Take note that the peer is gone: its detached calls end, including those that have not begun."""
        self._detached.clear()

    def close(self) -> None:
        """Drop the calls that nobody waits for any more, and the references to their connection."""
        self._stopping = True
        self._in_flight.clear()
        self._turns.close()
        self._tasks = None
        self._on_settled = do_nothing
        self.texts.close()
        self._detached.close()

    # --- from a call to its handler

    def _begin(self, call: Call) -> Rest | None:
        """Run the handler; return the part that is left to await."""
        try:
            return self._run_handler(call)
        except Exception as error:
            self._fail(call, error)
            return None

    def _run_handler(self, call: Call) -> Rest | None:
        if self._in_flight.saturated:
            raise Busy(_BUSY)
        method = METHODS.get(call.method)
        if method is None:
            raise MethodNotFound(f"unknown method {call.method!r}; `methods` lists them", method=call.method)
        values, call.replaced = method.signature.bind(call.params)
        services = self._services
        if not method.needs_agent:
            return self._do(call, None, method.handler(services, call, *self._arguments(call, method, values)))
        address = values.pop(0)
        agent = None if address is None else services.registry.get(address)
        if agent is None and address is not None:
            return partial(self._find_and_do, call, method, address, values)
        return self._do(
            call, agent, method.handler(services, call, agent, *self._arguments(call, method, values, address, agent))
        )

    def _options(self, client: str | None) -> CommandOptions:
        """Return the options of a command that sets none; most commands share them."""
        if self._shared.client != client:
            self._shared = CommandOptions(client=client)
        return self._shared

    def _arguments(
        self, call: Call, method: Method, values: list[Any], address: str | None = None, agent: Agent | None = None
    ) -> tuple[Any, ...]:
        """Return a handler's last arguments: a command's options, and the method's own parameters."""
        if not method.is_command:
            return (given(method.params, values),)
        key = values.pop()
        if_seq = None if method.has_parts else values.pop()
        if key is not None:
            about = None if agent is None else agent.row
            call.key = key_of(key, method.name, values, address, about)
        client = call.peer.client
        options = self._options(client) if key is None and if_seq is None else CommandOptions(if_seq, call.key, client)
        return options, given(method.params, values)

    async def _find_and_do(self, call: Call, method: Method, address: str, values: list[Any]) -> None:
        agent: Agent | None = None
        try:
            agent = await self._services.registry.find(address, alive=method.asks_to_create(values))
        except NotFound:
            arguments = self._arguments(call, method, values, address)  # its key is looked up before the error is sent
            if not (method.may_create or method.may_be_gone):
                raise
        else:
            arguments = self._arguments(call, method, values, address, agent)
        rest = self._do(call, agent, method.handler(self._services, call, agent or address, *arguments))
        if rest is not None:
            await rest()

    def _do(self, call: Call, agent: Agent | None, work: Work) -> Rest | None:
        """Answer, post the job, or return the part that is left to await."""
        if isinstance(work, dict):
            call.answer(work)
        elif isinstance(work, Deferred):
            return partial(self._await, call, work)
        elif isinstance(work, Posted):
            self._post(call, work.agent, work.job)
        elif isinstance(work, Detached):
            if self._stopping:
                raise ShuttingDown(_STOPPING)
            self._detached.start(call, partial(self._await, call, work))
        else:
            assert agent is not None, "a job is for an agent"  # noqa: S101 - the method table sees to it
            if isinstance(work, Prepared):
                return partial(work.run, partial(self._post_to, call, agent))
            self._post(call, agent, work)
        return None

    async def _post_to(self, call: Call, agent: Agent, job: Job) -> None:
        """Post a job, if the agent is still there: it may have been evicted meanwhile, or purged."""
        registry = self._services.registry
        self._post(call, await registry.relocate(agent), job)
        registry.pump()

    def _post(self, call: Call, agent: Agent, job: Job) -> None:
        self._turns.note_posted(call)
        self._services.registry.post(agent, job)

    async def _await(self, call: Call, work: Deferred | Detached) -> None:
        call.answer(await work.run())

    async def _finish(self, call: Call, rest: Rest) -> None:
        """Await the rest of a call."""
        try:
            await rest()
        except Exception as error:
            self._fail(call, error)

    def _begin_again(self, call: Call) -> None:
        """Begin a call again, to whose agent another daemon has written."""
        call.overtaken += 1
        if call.detached:
            call.detached = False
            self._in_flight.remove(-call.size, -1)
        self._turns.again(call)

    # --- from an outcome to the reply

    def _fail(self, call: Call, error: Exception) -> None:
        """Answer with an exception of a handler: the one place that maps exceptions to errors of the protocol."""
        if isinstance(error, MemoryError):
            text = "connection=%d method=%s: there is not enough memory; refusing it"
            self._traffic.warnings.warn(call.peer.number, text, call.peer.number, call.method)
            error = no_memory()
        elif not isinstance(error, ReelError):
            log.error("connection=%d method=%s failed", call.peer.number, call.method, exc_info=error)
            error = Internal(UPDATED if isinstance(error, ImportError) or was_updated() else _BUG)
        call.answer(error)

    def settle(self, call: Call, outcome: Outcome) -> None:
        """Reply with the outcome of a call; if a command with a key failed, the key is looked up first."""
        if call.is_posted:
            self._turns.note_outcome(call)
        if isinstance(outcome, OvertakenError):
            if call.overtaken < _MOST_OVERTAKEN:
                self._begin_again(call)
                return
            outcome = Busy(_OVERTAKEN)
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
        self._reply(call, outcome)
        if call.then is not None:
            then, call.then = call.then, None  # it refers to the call: a cycle would keep both in memory
            if not isinstance(outcome, ReelError):
                then()
        self._note_settled(call.method, call.began, call.size)

    def _note_settled(self, method: str, began: float, size: int, count: int = 1) -> None:
        """Count calls that were answered, with the bytes of their parameters."""
        seconds = self._traffic.request_seconds.get(method)
        if seconds is not None:
            seconds.observe(monotonic() - began, count)
        self.answered += count
        loop_packer.forget(size)
        self._on_settled()

    def _note_end(self, call: Call, *, is_cancelled: bool) -> None:
        """Take note that a detached call has ended, or never began because the peer is gone."""
        if is_cancelled:
            call.answer(ShuttingDown(_STOPPING))
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


def _needs_look(call: Call) -> bool:
    """Return whether a call depends on what other daemons write."""
    method = METHODS.get(call.method)
    return method is not None and not method.is_about_the_daemon
