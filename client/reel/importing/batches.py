"""Takes the steps of a source some at a time: they are read, then masked, then added."""

from collections.abc import Iterator
from math import inf

from reel.base.batches import some_at_a_time
from reel.importing.steps import Reading, Step


def batches(reading: Reading) -> Iterator[list[Step]]:
    """Yield the steps of a source, some at a time.

    A reader that does not know where in its source it is counts a record after it has yielded what becomes of it: each
    of its steps is a batch.

    Raises:
        Exception: what the reader raises, after the steps before it.
    """
    at = 0

    def size_of(_: Step) -> float:
        nonlocal at
        before, at = at, reading.counts.position
        return at - before if at else inf

    return some_at_a_time(reading.steps(), size_of)
