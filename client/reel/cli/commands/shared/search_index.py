"""The search index fills in the background: how a command waits until it has what was just written."""

import time
from collections.abc import Callable
from typing import Any

# Seconds that a command waits at most. The index has new events about 0.2 s after their commit. After a large import or
# while it is built, it takes longer, and `reel search` then says how many events it lacks.
PATIENCE = 2.0
# Seconds between two looks. No event says that the index has grown, and no request waits for it: one would be in the
# protocol for the last moment of a command that usually looks five times, for 1.5 ms each with a thousand agents.
_POLL = 0.05


def wait_until_found(stats: Callable[[], dict[str, Any]], patience: float) -> None:
    """Wait until a search finds what is in the log now; what others write meanwhile is not waited for.

    Args:
        stats: returns the daemon's figures.
        patience: how many seconds at most.
    """
    end = time.monotonic() + patience
    figures = stats()
    newest = figures["search_indexed"] + figures["search_behind"]
    while figures["search_indexed"] < newest and figures["search_problem"] is None and time.monotonic() < end:
        time.sleep(_POLL)  # nothing signals that the index has caught up
        figures = stats()
