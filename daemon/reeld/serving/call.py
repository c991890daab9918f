"""A request on its way: who asked, and where the answer goes."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from reel.errors import ReelError
from reel.frames import MAX_MESSAGE, MAX_VALUES, Framing, Id
from reeld.agents.creation import Founder
from reeld.agents.mail import Mail
from reeld.agents.registry import Registry
from reeld.core.state import Profile
from reeld.serving.drafts import Drafts
from reeld.serving.greeting import Greeting
from reeld.serving.render_cache import Shelf
from reeld.serving.subscriptions import Subscriptions
from reeld.store.store import Store

Result: TypeAlias = dict[str, Any]
# What a handler gives: a result at once, mail for the agent, or something to wait for.
Later: TypeAlias = Callable[[], Awaitable[Result | None]]


class Aside(NamedTuple):
    """Something that may wait for long: it holds up nothing on its connection, and does not count as in flight."""

    run: Later


Work: TypeAlias = Result | Mail | Later | Aside


class Limits(NamedTuple):
    """What one connection may have in flight, and all of them together; what may wait to be read by a peer."""

    requests: int = 256
    bytes: int = 32 << 20
    all_bytes: int = 256 << 20
    # Bytes of answers, and of pushes, that may wait; and of both and of incomplete messages on all connections.
    unread: int = 32 << 20
    pushes: int = 1 << 20
    all_waiting: int = 256 << 20
    subscriptions: int = 256
    # Requests that wait for something to happen.
    asides: int = 256
    # Seconds in which a peer must read something of what waits for it.
    stall: float = 60.0
    # Bytes, and values, of one message.
    message: int = MAX_MESSAGE
    values: int = MAX_VALUES
    # Connections at once.
    max_open: int = 1000


class Peer(Protocol):
    """What a handler may know of a connection."""

    number: int
    client: str | None
    limits: Limits
    subscriptions: Subscriptions

    @property
    def framing(self) -> Framing:
        """How the peer speaks."""

    def greet(self, greeting: Greeting) -> None:
        """Remember who is at the other end, and how it wants to be talked to."""

    def settle(self, call: "Call", outcome: Result | ReelError) -> None:
        """Send what came of a call."""

    def draft(self, profile: Profile, text: str) -> None:
        """Show the others what the peer is writing."""


class Call:
    """A request that has not been answered.

    ``number`` is what its answer is known by; ``None``: it is known by ``token`` and comes as a push, or is not
    wanted at all.
    """

    __slots__ = ("aside", "method", "number", "peer", "replaced", "size", "token")

    def __init__(self, peer: Peer, number: Id | None, method: str, size: int, token: Id | None = None) -> None:
        self.peer = peer
        self.number = number
        self.token = token
        self.method = method
        self.size = size
        # Characters that could not stay in its parameters.
        self.replaced = 0
        # Whether it has stepped aside, and is not in flight any more.
        self.aside = False

    def answer(self, outcome: Result | ReelError) -> None:
        """Answer with a result or an error."""
        self.peer.settle(self, outcome)


class Desk(NamedTuple):
    """What handlers work with.

    ``stop`` ends the daemon, ``counters`` gives what the listener counts, ``shelf`` keeps what was rendered.
    """

    registry: Registry
    store: Store
    founder: Founder
    drafts: Drafts
    stop: Callable[[], None]
    counters: Callable[[], dict[str, Any]]
    shelf: Shelf
