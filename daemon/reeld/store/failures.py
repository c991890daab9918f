"""Logs failing commits and reads: a line when they begin to fail and when they succeed again, and a count in between.

A client that repeats a command must not fill the log, nor must an outage that ends what a thousand clients follow:
there is at most one error a minute, even if commits fail and succeed alternately. No failure is lost: the next line
counts those before it.
"""

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

# Seconds between two errors.
_EVERY = 60.0
COMMITS, READS = ("a commit to", "commits to"), ("a read of", "reads of")


class Failures:
    """What fails at a database.

    Args:
        what: names one attempt, and several, as "a commit to" and "commits to".
        path: the database, for the log.
        clock: returns the time in seconds.
    """

    def __init__(self, what: tuple[str, str], path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._one, self._several = (f"{each} {path}" for each in what)
        self._clock = clock
        # How many failed since the last log line, and the reason of the last one.
        self._untold = 0
        self._reason = ""
        # Why the newest attempt failed; ``None`` if it did not.
        self.current: str | None = None
        # The time of the first of consecutive failures, and their number; only if they were logged.
        self._began: float | None = None
        self._count = 0
        self._quiet_until = clock()

    def failed(self, reason: str) -> None:
        """Note that an attempt failed."""
        self._untold += 1
        self._count += 1
        self._reason = self.current = reason
        self.report()

    def succeeded(self) -> None:
        """Note that an attempt succeeded."""
        self.current = None
        if self._began is not None:
            seconds = self._clock() - self._began
            log.warning("%s work again; %d failed within %.0f s", self._several, self._count, seconds)
            self._untold, self._began = 0, None
        self._count = self._untold

    def report(self) -> None:
        """Log the failures that are not in the log yet, unless the last error is less than a minute ago."""
        now = self._clock()
        if not self._untold or now < self._quiet_until:
            return
        if self._count == 1:
            log.error("%s failed: %s", self._one, self._reason)
        else:
            log.error("%d %s failed, the last one: %s", self._count, self._several, self._reason)
        if self._began is None:
            self._began = now
        self._untold, self._quiet_until = 0, now + _EVERY
