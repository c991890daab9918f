"""Times as people read them."""

import time

_DAY = 24 * 3600


def short(milliseconds: int, now: float | None = None) -> str:
    """Give a moment in the reader's own time zone: the time for the last hours, else the date with it."""
    seconds = milliseconds / 1000
    when = time.localtime(seconds)
    today = time.localtime(now)
    if (when.tm_year, when.tm_yday) == (today.tm_year, today.tm_yday):
        return time.strftime("%H:%M:%S", when)
    if when.tm_year == today.tm_year:
        return time.strftime("%m-%d %H:%M", when)
    return time.strftime("%Y-%m-%d", when)


def full(milliseconds: int) -> str:
    """Give a moment for programs: UTC, in the form of ISO 8601."""
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def span(seconds: float) -> str:
    """Give a length of time, in its two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (("d", _DAY), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2]) or "0s"
