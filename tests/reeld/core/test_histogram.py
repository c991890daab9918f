"""Histograms."""

from reeld.core.histogram import Histogram


def test_a_range_includes_its_upper_bound() -> None:
    """A value is counted in the lowest range whose bound it does not exceed; the last range has no bound."""
    histogram = Histogram((1, 2))
    assert not histogram
    for value in (0, 1, 1.5, 2, 3, 4):
        histogram.observe(value)

    assert {"bounds": [1, 2], "counts": [2, 2, 2], "sum": 11.5} == histogram.as_map()
    assert histogram
