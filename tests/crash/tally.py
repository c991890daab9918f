"""What the tests of this folder went through, for the line at their end."""

from collections import Counter, defaultdict
from statistics import median

_counts: Counter[str] = Counter()
_times: dict[str, list[float]] = defaultdict(list)


def count(what: str, times: int = 1) -> None:
    """Note that something happened."""
    _counts[what] += times


def took(what: str, seconds: float) -> None:
    """Note how long something took; figures to look at, none fails a test."""
    _times[what].append(seconds)


def lines() -> list[str]:
    """Give what was noted."""
    shown = [f"{times:7,} {what}" for what, times in _counts.items()]
    for what, seconds in _times.items():
        middle, longest = median(seconds) * 1e3, max(seconds) * 1e3
        shown.append(f"{what}: {middle:.0f} ms in the middle, {longest:.0f} ms at most")
    return shown
