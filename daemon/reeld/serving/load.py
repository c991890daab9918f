"""What all connections have in flight, and what waits on them: half a message, or what a peer does not read."""

import logging
from typing import Protocol

log = logging.getLogger(__name__)


class Bearer(Protocol):
    """A connection, as far as it bears a part of the load."""

    number: int

    @property
    def waiting(self) -> int:
        """How many bytes wait on it."""

    def drop(self) -> None:
        """End it at once, and let go of what waits."""


class Load:
    """The load of a daemon.

    ``bytes`` and ``requests`` are in flight, ``waiting`` are the bytes that wait on all connections.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.requests = 0
        self.refused = 0
        self.waiting = 0
        self.dropped = 0
        self.bearers: set[Bearer] = set()

    def hold(self, size: int, most: int) -> None:
        """Let more bytes wait; where that is too much in all, the connection that most wait on is given up.

        Args:
            size: how many more, already counted by the connection that they wait on.
            most: how many may wait in all.
        """
        self.waiting += size
        while self.waiting > most and self.bearers:
            heaviest = max(self.bearers, key=lambda bearer: bearer.waiting)
            if not heaviest.waiting:
                return
            log.warning("too much waits in all; closing connection=%d with %d bytes", heaviest.number, heaviest.waiting)
            self.dropped += 1
            heaviest.drop()
