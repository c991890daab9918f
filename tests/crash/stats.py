"""Statistics of the crash tests, for the summary of the run."""

from collections import Counter, defaultdict
from statistics import median

_counts: Counter[str] = Counter()
_times: dict[str, list[float]] = defaultdict(list)


def count(what: str, times: int = 1) -> None:
    """Count an occurrence, or several."""
    _counts[what] += times


def record_time(what: str, seconds: float) -> None:
    """Record a duration; it is printed, and never fails a test."""
    _times[what].append(seconds)


def lines() -> list[str]:
    """Return the lines of the summary."""
    shown = [f"{times:7,} {what}" for what, times in _counts.items()]
    for what, seconds in _times.items():
        middle, longest = median(seconds) * 1e3, max(seconds) * 1e3
        shown.append(f"{what}: median {middle:.0f} ms, maximum {longest:.0f} ms")
    return shown
