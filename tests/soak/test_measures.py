"""What counts as growth between two moments."""

import pytest

from tests.soak.measures import Measures, growth

BEFORE = Measures(50 << 20, 100, 200, 8 << 20, 1.1, 1.5)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (BEFORE, []),
        (BEFORE._replace(memory=54 << 20, descriptors=109, tasks=219, wal=23 << 20, p50=1.19, p99=1.9), []),
        (BEFORE._replace(memory=59 << 20), ["memory"]),
        (BEFORE._replace(memory=30 << 20, descriptors=50, p50=0.9), []),
        (BEFORE._replace(descriptors=111), ["descriptors"]),
        (BEFORE._replace(tasks=221), ["tasks"]),
        (BEFORE._replace(wal=25 << 20), ["wal"]),
        (BEFORE._replace(p50=1.3, p99=2.1), ["p50", "p99"]),
    ],
)
def test_growth(after: Measures, found: list[str]) -> None:
    """More than a tenth is growth, except where that is next to nothing."""
    assert found == [line.partition(":")[0] for line in growth(BEFORE, after, is_long=True)]


def test_a_short_run() -> None:
    """In a short run latencies do not count; all else does."""
    after = BEFORE._replace(descriptors=111, p50=2.0, p99=9.0)

    assert ["descriptors: 100 and 111"] == growth(BEFORE, after, is_long=False)
