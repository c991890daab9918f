"""Steps are taken some at a time: none is lost, and no more are in memory than a few records take."""

from collections.abc import Iterator, Sequence

import pytest

from reel.importing.batches import batches
from reel.importing.steps import Back, Counts, Step


class _Reading:
    """A source of which each record is one step.

    Args:
        sizes: the bytes of each record; 0 if the reader does not know them.
        error: what is raised at its end.
    """

    def __init__(self, sizes: Sequence[int], error: Exception | None = None) -> None:
        self.counts = Counts()
        self._sizes = sizes
        self._error = error

    def steps(self) -> Iterator[Step]:
        """Yield the steps."""
        for number, size in enumerate(self._sizes):
            self.counts.position += size
            yield Back(str(number))
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ([], []),
        ([100] * 70, [64, 6]),
        ([100, 100, 1 << 24, 100, 100], [3, 2]),
        ([40_000] * 5, [2, 2, 1]),
        ([0, 0, 0], [1, 1, 1]),
    ],
)
def test_how_many_steps_are_taken(sizes: list[int], lengths: list[int]) -> None:
    """Many small ones are taken together, few large ones, and one by one of a reader that counts what it yielded."""
    found = list(batches(_Reading(sizes)))

    assert lengths == [len(some) for some in found]
    assert [Back(str(number)) for number in range(len(sizes))] == [step for some in found for step in some]


def test_steps_before_an_error() -> None:
    """What a reader has yielded before it fails is there before the error."""
    found: list[Step] = []
    taking = map(found.extend, batches(_Reading([100] * 40, OSError("gone"))))
    with pytest.raises(OSError, match="gone"):
        list(taking)

    assert [Back(str(number)) for number in range(40)] == found
