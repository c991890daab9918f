"""The time that events and agents get."""

import time


def now() -> int:
    """Return the time in milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000
