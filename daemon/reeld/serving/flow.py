"""Flow control: how much one connection, and all of them together, may have in flight and waiting.

Three things are bounded. *In flight* is what was read and not answered yet; too much of it is refused with
``busy``. *Unread* is what a peer does not read fast enough, and *incomplete* is the part of a message whose rest
has not arrived; if too much of these waits on all connections together, the one with the most is closed. The
warnings about what clients do are limited as well, so that no client fills the log.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from reel.frames import MAX_MESSAGE, MAX_VALUES
from reel.histograms import Recorder
from reeld.core.batch import Batch

log = logging.getLogger(__name__)

# Warnings of one kind about one connection, and all warnings, between two reports. A client can open ever more
# connections.
_MAX_OF_ONE = 20
_MAX_OF_ALL = 200


class Limits(NamedTuple):
    """What one connection may have in flight and waiting, and all of them together (``all_…``)."""

    requests: int = 256
    # Bytes of the requests in flight.
    bytes: int = 32 << 20
    all_bytes: int = 256 << 20
    # Bytes of replies, and of pushes, that the peer has not read; and of both and of incomplete messages.
    unread: int = 32 << 20
    pushes: int = 1 << 20
    all_waiting: int = 256 << 20
    subscriptions: int = 256
    # Detached requests: they wait for something to happen, and do not count as in flight.
    asides: int = 256
    # Seconds in which a peer must read something of what waits for it.
    stall: float = 60.0
    # Bytes, and values, of one message.
    message: int = MAX_MESSAGE
    values: int = MAX_VALUES
    # Connections at once.
    max_open: int = 1000


class BufferedPeer(Protocol):
    """A connection on which something waits."""

    number: int

    @property
    def waiting(self) -> int:
        """How many bytes wait on it."""

    def drop(self) -> None:
        """Close it at once, and free what waits."""


class Traffic:
    """What all connections have in flight (``requests``, ``bytes``), what waits on them, and warnings about them.

    Args:
        methods: whose requests are timed. A client may name any other method, so those are not.
    """

    def __init__(self, methods: Iterable[str] = ()) -> None:
        self.bytes = 0
        self.requests = 0
        self.refused = 0
        self.waiting = 0
        self.dropped = 0
        # How long requests took, by method: from when a request was read until its reply was queued.
        self.request_seconds = {method: Recorder() for method in methods}
        # How many requests were answered with each error, by its name.
        self.errors = Counter[str]()
        self.peers: set[BufferedPeer] = set()
        self.warnings = ClientWarnings()
        # All connections send at the end of a batch.
        self.batch = Batch()

    def buffer(self, size: int, limit: int) -> None:
        """Count bytes that wait; if that is too many in all, close the connection with the most.

        Args:
            size: how many more wait, already counted by their connection.
            limit: how many may wait in all.
        """
        self.waiting += size
        self.relieve(limit)

    def relieve(self, limit: int) -> None:
        """Close the connections with the most while more than ``limit`` bytes wait."""
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
        # An admitted call found no room further on (a full mailbox): what follows it is refused too.
        self.saturated = False
        self._bytes = 0
        self._refusing = False
        self._traffic = traffic
        self._limits = limits

    def admit(self, size: int) -> bool:
        """Count one more call of this size, in bytes, if there is room; return whether there was."""
        limits, traffic, requests = self._limits, self._traffic, self.requests
        if not requests:
            self._refusing = self.saturated = False
        if (
            self._refusing
            or self.saturated
            or requests >= limits.requests
            or (requests and self._bytes + size > limits.bytes)
            or (traffic.requests and traffic.bytes + size > limits.all_bytes)
        ):
            self._refusing = True
            return False
        self.requests = requests + 1
        self._bytes += size
        traffic.requests += 1
        traffic.bytes += size
        return True

    def remove(self, size: int, calls: int = 1) -> None:
        """Stop counting calls of this size in all: they were answered, or detached."""
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


def do_nothing() -> None:
    """Take the place of a callback to a connection that has ended: the callback would keep the connection in memory."""


class ClientWarnings:
    """Logs warnings about connections; those that would be too many are counted until the next report."""

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
