"""Histograms: counting values, and what their counts say."""

import random
from statistics import quantiles

import pytest

from reel.stats.histograms import Histogram, Recorder, histogram_of


def test_a_range_includes_its_upper_bound() -> None:
    """A value is counted in the lowest range whose bound it does not exceed; the last range has no bound."""
    histogram = Recorder((1, 2))
    assert not histogram
    for value in (0, 1, 1.5, 2, 3, 4):
        histogram.observe(value)

    assert {"bounds": [1, 2], "counts": [2, 2, 2], "sum": 11.5} == histogram.as_map()
    assert histogram


def observed(values: list[float]) -> Histogram:
    """Return what a daemon's histogram says of some values."""
    made = Recorder()
    for value in values:
        made.observe(value)
    return histogram_of(made.as_map())


def test_quantiles_are_near_the_values() -> None:
    """Quantiles of many values are right within the width of a range."""
    numbers = random.Random(7)
    values = [numbers.lognormvariate(-6, 1) for _ in range(2000)]
    found = observed(values)
    exact = quantiles(values, n=100)

    for percent in (10, 50, 90, 99):
        assert found.quantile(percent / 100) == pytest.approx(exact[percent - 1], rel=0.25)
    assert found.mean == pytest.approx(sum(values) / 2000)


@pytest.mark.parametrize(
    ("counts", "part", "expected"),
    [([0, 0, 0], 0.5, None), ([4, 0, 0], 0.5, 0.5), ([1, 2, 1], 0.5, 1.5), ([0, 0, 9], 0.99, 2), ([1, 1, 0], 1, 2)],
)
def test_a_quantile_is_within_its_range(counts: list[int], part: float, expected: float | None) -> None:
    """Within a range values count as evenly spread; the last range has only a lower bound."""
    assert expected == Histogram([1, 2], counts, 0.0).quantile(part)


def test_what_came_since() -> None:
    """Two states are subtracted; a histogram of another process is taken as a whole."""
    before, now = Histogram([1, 2], [1, 2, 3], 6.0), Histogram([1, 2], [2, 2, 4], 9.0)

    assert Histogram([1, 2], [1, 0, 1], 3.0) == now.since(before)
    assert before == before.since(now)
    assert now == now.since(None)
    assert now == now.since(Histogram([1], [0, 0], 0.0))


def test_no_values() -> None:
    """Without values there is no average."""
    assert Histogram([1], [0, 0], 0.0).mean is None
