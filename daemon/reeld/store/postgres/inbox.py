"""Takes texts from a thread into the event loop, as many as that has time for.

Whoever may connect to the database may send as much as the server passes on, faster than texts can be taken beside the
requests of clients. Then some are dropped.
"""

import time
from collections import deque
from collections.abc import Callable

from reeld.poller import Poller

# The texts that may wait, each of 8 KB at most, and the seconds that taking some of them may last at a time.
MOST, _TURN = 1000, 0.005


class Inbox:
    """The texts that wait.

    Args:
        poller: lets the event loop take them.
        on_text: takes a text.
        on_missed: called after some were dropped.
    """

    def __init__(self, poller: Poller, on_text: Callable[[str], None], on_missed: Callable[[None], None]) -> None:
        self._poller = poller
        self._on_text = on_text
        self._on_missed = on_missed
        self._waiting: deque[str] = deque()
        # Whether some were dropped, and whether the event loop will look.
        self._has_missed = self._is_told = False

    def put(self, text: str) -> None:
        """Add a text; for the thread."""
        if len(self._waiting) < MOST:
            self._waiting.append(text)
        else:
            self._has_missed = True
        self._tell()

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._poller.call_soon(self._take, None)

    def _take(self, _: None) -> None:
        """Take some texts; the rest waits until sockets were read."""
        # First, so that a text which comes too late for this round begins the next one.
        self._is_told = False
        ends = time.monotonic() + _TURN
        while self._waiting and time.monotonic() < ends:
            self._on_text(self._waiting.popleft())
        if self._has_missed:
            self._has_missed = False
            self._on_missed(None)
        if self._waiting:
            self._tell()
