"""Histograms: how often a value was in which range. What a value costs is counted in nanoseconds, not in memory."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

# Upper bounds in seconds, from what a reply from memory takes to what a `wait` takes.
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# Upper bounds of how many are done at once.
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)


class Histogram:
    """Counts of observed values by range. A range includes its upper bound; the last one has none.

    Args:
        bounds: the upper bounds, ascending.
    """

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum: float = 0

    def __bool__(self) -> bool:
        return any(self._counts)

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def as_map(self) -> dict[str, Any]:
        """Return it in the form of the protocol."""
        return {"bounds": list(self._bounds), "counts": list(self._counts), "sum": self._sum}
