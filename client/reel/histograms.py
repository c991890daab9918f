"""Histograms of the daemon's ``stats``: what happened between two of them, and which value most were below."""

from __future__ import annotations

from itertools import accumulate

from reel.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Histogram(NamedTuple):
    """Counts of values by range; the last range has no upper bound."""

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
        """Return what a part of the values does not exceed, as far as the ranges say; ``None`` without values.

        Within a range the values count as evenly spread. Of the last range only the lower bound is known.
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
        """Return what came after an earlier state; everything, if that is not one of the same histogram."""
        if before is None or before.bounds != self.bounds:
            return self
        counts = [now - then for now, then in zip(self.counts, before.counts, strict=True)]
        return self if min(counts) < 0 else Histogram(self.bounds, counts, self.sum - before.sum)


def histogram_of(found: dict[str, Any]) -> Histogram:
    """Return a histogram from its form in the protocol."""
    return Histogram(found["bounds"], found["counts"], found["sum"])
