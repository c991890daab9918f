"""Flow control: how much one connection, and all of them together, may have in flight and waiting.

Three things are bounded. Requests *in flight* were read and are not answered yet; beyond the limit they are refused
with ``busy``. *Unread* bytes are queued for a peer that does not read fast enough, and *incomplete* bytes belong to a
message whose rest has not arrived; if all connections together hold too many of these, the one with the most is closed.
The warnings about clients are limited as well, so that no client fills the log.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from reel.base.light_typing import NamedTuple
from reel.stats.histograms import Recorder
from reel.wire.frames import MAX_MESSAGE
from reeld.core.batch import Batch
from reeld.wire.sizes import MAX_VALUES

log = logging.getLogger(__name__)

# The most warnings of one kind about one connection, and of all, between two reports: a client can open any number of
# connections.
_MAX_OF_ONE = 20
_MAX_OF_ALL = 200


class Limits(NamedTuple):
    """The limits of one connection, and of all of them together (``all_…``)."""

    requests: int = 256
    # Bytes of the requests in flight.
    bytes: int = 32 << 20
    all_bytes: int = 256 << 20
    # Unread bytes of replies; of pushes; and, over all connections, of both and of incomplete messages.
    unread: int = 32 << 20
    pushes: int = 1 << 20
    all_waiting: int = 256 << 20
    subscriptions: int = 256
    # Detached requests, which wait for something to happen and do not count as in flight.
    asides: int = 256
    # Seconds within which a peer must read something of what is queued for it.
    stall: float = 60.0
    # Bytes, and values, of one message.
    message: int = MAX_MESSAGE
    values: int = MAX_VALUES
    # Connections at once.
    max_open: int = 1000


class BufferedPeer(Protocol):
    """A connection that holds bytes."""

    number: int

    @property
    def waiting(self) -> int:
        """How many bytes it holds."""

    def drop(self) -> None:
        """Close it at once, and free the bytes."""


class Traffic:
    """The totals over all connections: what is in flight (``requests``, ``bytes``) and held, and warnings.

    Args:
        methods: whose requests are timed; others are not, because a client may send any name.
    """

    def __init__(self, methods: Iterable[str] = ()) -> None:
        self.bytes = 0
        self.requests = 0
        self.refused = 0
        self.waiting = 0
        self.dropped = 0
        # The latencies of requests by method: from reading a request to queueing its reply.
        self.request_seconds = {method: Recorder() for method in methods}
        # How many requests were answered with each error, by its name.
        self.errors = Counter[str]()
        self.peers: set[BufferedPeer] = set()
        self.warnings = ClientWarnings()
        # Shared by all connections: they send at the end of a batch.
        self.batch = Batch()

    def buffer(self, size: int, limit: int) -> None:
        """Count held bytes; if the total is too large, close the connection with the most.

        Args:
            size: how many more are held, already counted by their connection.
            limit: how many may be held in total.
        """
        self.waiting += size
        self.relieve(limit)

    def relieve(self, limit: int) -> None:
        """Close the connections with the most while more than ``limit`` bytes are held."""
        while self.waiting > limit and self.peers:
            heaviest = max(self.peers, key=lambda peer: peer.waiting)
            if not heaviest.waiting:
                return
            text = "too much waits in all; closing connection=%d with %d bytes"
            self.warnings.warn(heaviest.number, text, heaviest.number, heaviest.waiting)
            self.dropped += 1
            heaviest.drop()


class InFlight:
    """The calls of one connection that were admitted and are not answered yet.

    The admitted calls are always a prefix of those that were sent: once one is refused, all that follow are, until
    none is in flight any more. A client that pipelines dependent commands can rely on that.

    Args:
        traffic: what all connections have in flight.
        limits: what one may have, and all of them together.
    """

    def __init__(self, traffic: Traffic, limits: Limits) -> None:
        self.requests = 0
        # Whether an admitted call was refused later (a full mailbox): then the calls that follow are refused too.
        self.saturated = False
        self._bytes = 0
        self._refusing = False
        self._traffic = traffic
        self._max_requests, self._max_bytes, self._max_all = limits.requests, limits.bytes, limits.all_bytes

    def admit(self, size: int) -> bool:
        """Count one more call of this size, in bytes, if there is room; return whether there was."""
        traffic, requests = self._traffic, self.requests
        if not requests:
            self._refusing = self.saturated = False
        elif self._refusing or self.saturated or requests >= self._max_requests or self._bytes + size > self._max_bytes:
            self._refusing = True
            return False
        if traffic.requests and traffic.bytes + size > self._max_all:
            self._refusing = True
            return False
        self.requests = requests + 1
        self._bytes += size
        traffic.requests += 1
        traffic.bytes += size
        return True

    def remove(self, size: int, calls: int = 1) -> None:
        """Stop counting calls of this total size: they were answered, or detached."""
        traffic = self._traffic
        self.requests -= calls
        self._bytes -= size
        traffic.requests -= calls
        traffic.bytes -= size

    def clear(self) -> None:
        """Stop counting the calls: nobody waits for them."""
        self._traffic.requests -= self.requests
        self._traffic.bytes -= self._bytes
        self.requests = self._bytes = 0


def do_nothing(*_: object, **__: object) -> None:
    """Replace a callback to a connection that has ended: the callback would keep the connection in memory."""


class ClientWarnings:
    """Logs warnings about connections; those beyond the limit are only counted until the next report."""

    def __init__(self) -> None:
        self._logged = Counter[tuple[int | None, str]]()
        self._omitted = 0

    def warn(self, connection: int | None, text: str, *args: object) -> None:
        """Log a warning, or count it.

        Args:
            connection: which one it is about; ``None`` for those that were turned away.
            text: the format, by which kinds are told apart.
            args: its arguments.
        """
        kind = (connection, text)
        if self._logged[kind] < _MAX_OF_ONE and self._logged.total() < _MAX_OF_ALL:
            self._logged[kind] += 1
            log.warning(text, *args)
        else:
            self._omitted += 1

    def report(self) -> None:
        """Log how many warnings were omitted since the last report, and begin again; called once a minute."""
        if self._omitted:
            log.warning("warnings about connections that are missing above: %d", self._omitted)
        self._logged.clear()
        self._omitted = 0
