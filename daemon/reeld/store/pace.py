"""Decides which thread the next commit runs in: that of the event loop, or that of the connection.

A commit in the connection's thread costs four wake-ups, at 35 to 40 us each. One in the event loop's thread costs none,
but nothing else happens until the disk has synced it. So the loop commits what is small, as long as the disk has lately
been fast; the connection's thread has the rest. So do short look-ups in an index, which cost such wake-ups as well.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from reeld.store.transactions import Transaction

# The loop commits until the estimate of a sync, in seconds, is over the first of these, and begins again when it is
# under the second. A fast disk takes 0.2 to 0.5 ms; beside busy threads, a few of a hundred take 5 ms.
_SLOW, _FAST = 0.002, 0.001
# The share of the newest sync in the estimate: two of 5 ms are enough to end the commits in the loop, one is not.
_SHARE = 0.25
# So many syncs in the connection's thread come before the first commit in the loop: at the start, which is enough for
# an estimate, and after the disk was found to be slow. A hundred at the start as well cost each of the first fifty
# turns of a program with a new daemon 0.3 ms.
_PROOF = 10
_PROOF_AGAIN = 100
# A sync or a look-up that takes longer than this many seconds stops the loop; so many may do that within so many
# seconds.
_STOP = 0.01
_STOPS, _WITHIN = 2, 60.0
# The most events of a commit that is small, and the most characters of their contents. Larger ones gain more from the
# requests that are read meanwhile than they lose by the wake-ups: 8 clients with 32 requests in flight each made 61,000
# adds a second with commits of up to 256 in the thread, and 48,000 with those of up to 100 in the loop.
_MOST_EVENTS = 64
_MOST_TEXT = 100_000


class Pace:
    """How fast the recent small commits were synced.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._estimate = 0.0
        # How many syncs in the thread come before the next commit in the loop.
        self._unproven = _PROOF
        # When something stopped the loop, oldest first.
        self._stops: deque[float] = deque([-_WITHIN] * _STOPS, maxlen=_STOPS)

    def is_fast(self) -> bool:
        """Return whether a small commit, or a short look-up, may run in the event loop's thread."""
        return not self._unproven and self._clock() - self._stops[0] >= _WITHIN

    def note_look(self, seconds: float) -> None:
        """Note how long a look-up took that held up the event loop."""
        if seconds > _STOP:
            self._stops.append(self._clock())

    def note(self, seconds: float, *, in_loop: bool) -> None:
        """Note how long a sync took.

        Args:
            seconds: its duration.
            in_loop: whether it held up the event loop.
        """
        self._estimate += _SHARE * (seconds - self._estimate)
        if not in_loop:
            if self._unproven > 1 or self._estimate < _FAST:
                self._unproven = max(0, self._unproven - 1)
            return
        if seconds > _STOP:
            self._stops.append(self._clock())
        if self._estimate > _SLOW:
            self._unproven = _PROOF_AGAIN


def is_small(events: int, text: int) -> bool:
    """Return whether a commit of so many events, with so many characters, takes little time beside its sync."""
    return events <= _MOST_EVENTS and text <= _MOST_TEXT


def are_small(transactions: Sequence[Transaction]) -> bool:
    """Return whether a commit of these transactions takes little time beside its sync."""
    events = text = 0
    for transaction in transactions:
        if transaction.is_probe or transaction.decision is not None:
            return False
        events += len(transaction.milestones) + sum(len(part.events) for part in transaction.parts)
        if events > _MOST_EVENTS:
            return False
        for part in transaction.parts:
            for event in part.events:
                text += len(event.content or "") + len(event.data_json or "")
    return is_small(events, text)
