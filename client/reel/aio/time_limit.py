"""The time limit of the async client's calls."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from reel.base.errors import Timeout


class TimeLimit:
    """How long a call may take, not counting the start of a daemon, because migrating an old database may take minutes.

    Args:
        seconds: the limit; ``None`` for none.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._scopes: set[anyio.CancelScope] = set()
        self._pauses = 0

    @contextmanager
    def within(self, what: str, consequence: str = "") -> Iterator[None]:
        """Limit what is done inside.

        Args:
            what: what took too long, for the error, such as ``add took longer than``.
            consequence: what else the error says, after the limit.

        Raises:
            Timeout: it takes longer.
        """
        if self.seconds is None:
            yield
            return
        with anyio.CancelScope(deadline=self._deadline(self.seconds)) as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
        if scope.cancelled_caught:
            raise Timeout(f"{what} {self.seconds:g} s{consequence}", seconds=self.seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass while a daemon is started; after that, the time of each call begins anew."""
        self._pauses += 1
        self._renew()
        try:
            yield
        finally:
            self._pauses -= 1
            self._renew()

    def _renew(self) -> None:
        for scope in self._scopes:
            scope.deadline = self._deadline(self.seconds or 0)

    def _deadline(self, seconds: float) -> float:
        return math.inf if self._pauses else anyio.current_time() + seconds
