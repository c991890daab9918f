"""A request on its way: who asked, what its handler may use, and what the handler returns."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from reel.errors import ReelError
from reel.frames import Id
from reel.framing import Framing
from reeld.agents.creation import AgentFactory
from reeld.agents.idempotency import IdempotencyKey
from reeld.agents.jobs import Job
from reeld.agents.registry import Registry
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.core.state import Profile
from reeld.search.service import Search
from reeld.serving.drafts import Drafts
from reeld.serving.flow import Limits
from reeld.serving.renderings import AskedModels, RenderCache
from reeld.serving.subscriptions import Subscriptions
from reeld.store.retention import Retention
from reeld.store.store import Store
from reeld.store.transactions import DivergedError

Result: TypeAlias = dict[str, Any]
# What comes of a call: its result, as a map or as MessagePack already, or an error.
Outcome: TypeAlias = Result | bytes | ReelError


class Deferred(NamedTuple):
    """Work that awaits something. What follows it on its connection waits too, so that order is kept."""

    run: Callable[[], Awaitable[Result | bytes]]


class Detached(NamedTuple):
    """Work that may wait for long. It holds up nothing on its connection, and does not count as in flight."""

    run: Callable[[], Awaitable[Result]]


# What a handler returns: the result, a job for the agent that the call is about, or work that awaits something.
Work: TypeAlias = Result | Job | Deferred | Detached


class ClientInfo(NamedTuple):
    """What a client says of itself in ``hello``; ``None`` if it did not.

    Args:
        name: its name.
        version: its version.
        errors: ``text`` or ``map``: how it wants errors.
        notify: the method and the first arguments that it wants pushes with.
    """

    name: str | None
    version: str | None
    errors: str | None
    notify: list[str] | None


class Peer(Protocol):
    """What a handler may use of a connection."""

    number: int
    client: str | None
    limits: Limits
    subscriptions: Subscriptions

    @property
    def framing(self) -> Framing:
        """The framing that the peer speaks."""

    def introduce(self, info: ClientInfo) -> None:
        """Remember what the client says of itself, and talk to it accordingly."""

    def draft(self, profile: Profile, text: str) -> None:
        """Show subscribers what the peer is writing."""

    def end_draft(self, row: int) -> None:
        """Take note that the peer has added to an agent what it was writing."""


class Call:
    """A request that has not been answered.

    Its answer is a response with ``number``; without one it is a push with ``token`` (see ``call_async``); without
    either nobody wants it, and only an error is logged.
    """

    # Nearly every call leaves these as they are; so they are set only if they differ.
    #
    # Whether it is detached, and so not in flight any more.
    detached = False
    # The idempotency key of a command.
    key: IdempotencyKey | None = None
    # How many characters of its parameters were replaced.
    replaced = 0
    # When it was read, on the monotonic clock.
    began = 0.0
    # Called right after a result was queued for the peer: what must not overtake it.
    then: Callable[[], None] | None = None
    # Its place in the order in which the calls of its connection arrived, and its parameters.
    place = 0
    params: Any = None
    # Whether its job was posted and may be sent back.
    is_ahead = False

    def __init__(
        self,
        peer: Peer,
        settle: "Callable[[Call, Outcome | DivergedError], None]",
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

    def answer(self, outcome: Outcome | DivergedError) -> None:
        """Answer with a result or an error, or begin again if it went to an agent that has another address now."""
        self.settle(self, outcome)


class Services(NamedTuple):
    """What handlers work with.

    Args:
        registry: finds live agents.
        store: reads the log.
        factory: creates agents.
        drafts: what is being written.
        stop: ends the daemon.
        counters: returns what the listener counts.
        render_cache: keeps what was rendered.
        asked_models: knows which model was asked.
        search: finds what was said.
        describe_connections: returns what is known of each connection.
        backups: writes backups.
        scheduled_backups: makes some by itself.
        retention: which agents are too old.
    """

    registry: Registry
    store: Store
    factory: AgentFactory
    drafts: Drafts
    stop: Callable[[], None]
    counters: Callable[[], dict[str, Any]]
    render_cache: RenderCache
    asked_models: AskedModels
    search: Search
    describe_connections: Callable[[], list[dict[str, Any]]]
    backups: Backups
    scheduled_backups: ScheduledBackups
    retention: Retention = Retention()
