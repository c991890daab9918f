"""What counts as a difference between two moments."""

import pytest

from tests.soak.measures import Measures, differences

BEFORE = Measures(50 << 20, 100, 200, 8 << 20, 0.001, 0.01)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (BEFORE, []),
        (BEFORE._replace(memory=54 << 20, descriptors=109, tasks=219, wal=23 << 20, p50=0.0011, p99=0.0109), []),
        (BEFORE._replace(memory=59 << 20), ["memory"]),
        (BEFORE._replace(memory=41 << 20), ["memory"]),
        (BEFORE._replace(descriptors=111), ["descriptors"]),
        (BEFORE._replace(tasks=221), ["tasks"]),
        (BEFORE._replace(wal=25 << 20), ["wal"]),
        (BEFORE._replace(p50=0.0013, p99=0.013), ["p50", "p99"]),
    ],
)
def test_differences(after: Measures, found: list[str]) -> None:
    """A tenth more or less is a difference, except where it is next to nothing."""
    assert found == [line.partition(":")[0] for line in differences(BEFORE, after, is_long=True)]


def test_a_short_run() -> None:
    """In a short run latencies do not count; all else does."""
    after = BEFORE._replace(descriptors=111, p50=1.0, p99=2.0)

    assert ["descriptors: 100 and 111"] == differences(BEFORE, after, is_long=False)
