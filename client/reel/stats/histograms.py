"""Histograms, which count values by range: the daemon fills them, and clients read them in its ``stats``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

# Upper bounds in seconds, from the time of a reply from memory to that of a `wait`.
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# Upper bounds of batch sizes.
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)


class Recorder:
    """Counts values by range, which takes nanoseconds and no memory.

    A range includes its upper bound; the last one has none.

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

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, or as many that are the same."""
        self._counts[bisect_left(self._bounds, value)] += times
        self._sum += value * times

    def as_map(self) -> dict[str, Any]:
        """Return the counts in the form of the protocol."""
        return {"bounds": list(self._bounds), "counts": list(self._counts), "sum": self._sum}


class Histogram(NamedTuple):
    """The counts of a recorder in the form of the protocol, and statistics of them."""

    bounds: list[float]
    counts: list[int]
    sum: float

    @property
    def total(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """The average; ``None`` if there were no values."""
        return self.sum / self.total if self.total else None

    def quantile(self, part: float) -> float | None:
        """Return a quantile, estimated from the ranges; ``None`` without values.

        Values are assumed to be spread evenly within a range. Of the last range only the lower bound is known.
        """
        rank = part * self.total
        if not rank:
            return None
        sums = list(accumulate(self.counts))
        index = next(index for index, below in enumerate(sums) if below >= rank)
        if index == len(self.bounds):
            return self.bounds[-1]
        low = self.bounds[index - 1] if index else 0.0
        share = (rank - (sums[index] - self.counts[index])) / self.counts[index]
        return low + (self.bounds[index] - low) * share

    def since(self, before: Histogram | None) -> Histogram:
        """Return the difference to an earlier state; everything if that belongs to another histogram."""
        if before is None or before.bounds != self.bounds:
            return self
        counts = [now - then for now, then in zip(self.counts, before.counts, strict=True)]
        return self if min(counts) < 0 else Histogram(self.bounds, counts, self.sum - before.sum)


def histogram_of(found: dict[str, Any]) -> Histogram:
    """Return a histogram from its form in the protocol."""
    return Histogram(found["bounds"], found["counts"], found["sum"])
