"""A request on its way: who asked, what its handler may use, and what the handler returns."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.wire.frames import Id
from reeld.agents.agent import Agent
from reeld.agents.idempotency import IdempotencyKey
from reeld.agents.jobs import Job
from reeld.agents.pruning_old import PruningOld
from reeld.agents.registry import Registry
from reeld.agents.retaining import Retaining
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.core.state import Profile
from reeld.search.service import Search
from reeld.serving.drafts import Drafts
from reeld.serving.flow import Limits
from reeld.serving.long_work import LongWork
from reeld.serving.renderings import RenderCache, UnansweredRenderings
from reeld.serving.subscriptions import Subscriptions
from reeld.store.store import Store
from reeld.wire.framing import Framing

Result: TypeAlias = dict[str, Any]
# The outcome of a call: its result, as a map or already packed as MessagePack, or an error.
Outcome: TypeAlias = Result | bytes | ReelError


class Deferred(NamedTuple):
    """Work that awaits something. Later requests of its connection wait for it, so that their order is kept."""

    run: Callable[[], Awaitable[Result | bytes]]


class Posted(NamedTuple):
    """A job for an agent that the call does not name in a parameter of its own."""

    agent: Agent
    job: Job


# Gives a job to the agent that a call is about.
Post: TypeAlias = Callable[[Job], Awaitable[None]]


class Prepared(NamedTuple):
    """Work that awaits something before it becomes a job for an agent. Later requests of its connection wait for that.

    So the job of one request is prepared while those of earlier ones are written, and they may share a commit. Once it
    is posted, with the function that the work is given, nothing may fail.
    """

    run: Callable[[Post], Awaitable[None]]


class Detached(NamedTuple):
    """Work that may take long. It does not delay later requests of its connection, and does not count as in flight."""

    run: Callable[[], Awaitable[Result]]


# What a handler returns: the result, a job for the agent that the call is about, or work that awaits something.
Work: TypeAlias = Result | Job | Posted | Deferred | Prepared | Detached


class ClientInfo(NamedTuple):
    """What a client says about itself in ``hello``; ``None`` for what it left out.

    Args:
        name: its name.
        version: its version.
        errors: ``text`` or ``map``: how it wants errors.
        notify: the method and the first arguments with which it wants to get pushes.
        short_messages: whether it takes messages in short.
    """

    name: str | None
    version: str | None
    errors: str | None
    notify: list[str] | None
    short_messages: bool | None = None


class Peer(Protocol):
    """The part of a connection that handlers may use."""

    number: int
    client: str | None
    limits: Limits
    subscriptions: Subscriptions

    @property
    def framing(self) -> Framing:
        """The framing that the peer speaks."""

    def introduce(self, info: ClientInfo) -> None:
        """Remember what the client says about itself, and adapt to it."""

    def draft(self, profile: Profile, text: str) -> None:
        """Show subscribers the draft that the peer is writing."""

    def end_draft(self, row: int) -> None:
        """Take note that the peer has added its draft to an agent."""


class Call:
    """A request that has not been answered.

    It is answered by a response with ``number``; without a number, by a push with ``token`` (see ``call_async``);
    without either there is no answer, and an error is only logged.
    """

    # Class attributes, because nearly every call keeps these values; only others are set on the instance.
    #
    # Whether it is detached, and so no longer in flight.
    detached = False
    # The idempotency key of a command.
    key: IdempotencyKey | None = None
    # How many characters of its parameters were replaced.
    replaced = 0
    # When it was read, on the monotonic clock.
    began = 0.0
    # Called right after the result was queued for the peer, for what must not overtake it.
    then: Callable[[], None] | None = None
    # Its place in the order in which the calls of its connection arrived, and its parameters.
    place = 0
    params: Any = None
    # Whether its job was posted, and may be overtaken by what other daemons write to the agent; and how often it was.
    is_posted = False
    overtaken = 0

    def __init__(
        self,
        peer: Peer,
        settle: "Callable[[Call, Outcome], None]",
        number: Id | None,
        method: str,
        size: int,
        token: Id | None = None,
    ) -> None:
        self.peer = peer
        self.settle = settle
        self.number = number
        self.token = token
        self.method = method
        self.size = size

    def answer(self, outcome: Outcome) -> None:
        """Answer with a result or an error, or begin again if it was overtaken."""
        self.settle(self, outcome)


class Services(NamedTuple):
    """What handlers work with.

    Args:
        registry: finds live agents.
        store: reads the log.
        drafts: what is being written.
        stop: ends the daemon.
        counters: returns what the listener counts.
        long_work: runs long computations.
        render_cache: keeps what was rendered.
        unanswered: what each conversation was rendered as since its last answer.
        search: finds what was said.
        describe_connections: describes each connection.
        backups: writes backups.
        scheduled_backups: makes backups on a schedule.
        retention: purges old agents.
        pruning_old: prunes living agents.
    """

    registry: Registry
    store: Store
    drafts: Drafts
    stop: Callable[[], None]
    counters: Callable[[], dict[str, Any]]
    long_work: LongWork
    render_cache: RenderCache
    unanswered: UnansweredRenderings
    search: Search
    describe_connections: Callable[[], list[dict[str, Any]]]
    backups: Backups
    scheduled_backups: ScheduledBackups
    retention: Retaining
    pruning_old: PruningOld
