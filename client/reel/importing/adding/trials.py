"""Remembers what failed, so that it is tried again less and less often while nothing about it changes."""

import time
from collections.abc import Callable

from reel.base.light_typing import NamedTuple

# Seconds until the next trial after the first failure, and at most; each time it is twice as long.
_SOON, _LATE = 2.0, 600.0


class _Failure(NamedTuple):
    """The last failure: what it was about, how long to wait, and the time until which to wait."""

    like: object
    wait: float
    until: float


class Trials:
    """What failed, of this process.

    Args:
        clock: returns a time in seconds that only grows.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}

    def fail(self, name: str, like: object = None) -> None:
        """Record a failure.

        Args:
            name: what was tried.
            like: what it was like; if that changes, it is tried at once.
        """
        before = self._failures.get(name)
        wait = min(before.wait * 2, _LATE) if before is not None and before.like == like else _SOON
        self._failures[name] = _Failure(like, wait, self._clock() + wait)

    def succeed(self, name: str) -> None:
        """Forget the failures of something."""
        self._failures.pop(name, None)

    def is_due(self, name: str, like: object = None) -> bool:
        """Return whether to try something now."""
        failure = self._failures.get(name)
        return failure is None or failure.like != like or self._clock() >= failure.until
