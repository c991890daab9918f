"""Takes what an import reads some at a time: a few records are parsed, then read, then masked, then added.

The code of these four is more than the caches of a processor next to it hold. To go through all of it for each record
took a third more time than to stay in one part for some records.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import TypeVar

from reel.importing.steps import Reading, Step

T = TypeVar("T")

# The most items that are taken together, and how many bytes of the source they may have: a single one may have more.
_MOST, _BYTES = 32, 64 << 10


def some_at_a_time(items: Iterable[T], size_of: Callable[[T], float]) -> Iterator[list[T]]:
    """Yield items, some at a time; those before an error come before that.

    Args:
        items: the items.
        size_of: returns the size of the next one in the source, in bytes.

    Raises:
        Exception: what the items raise.
    """
    some, size, failure = list[T](), 0.0, None
    try:
        for item in items:
            some.append(item)
            size += size_of(item)
            if len(some) == _MOST or size >= _BYTES:
                yield some
                some, size = [], 0.0
    except Exception as error:
        failure = error
    yield some
    if failure is not None:
        raise failure


def batches(reading: Reading) -> Iterator[list[Step]]:
    """Yield the steps of a source, some at a time.

    A reader that does not know where in its source it is counts a record after it has yielded what becomes of it: each
    of its steps is a batch.

    Raises:
        Exception: what the reader raises.
    """
    at = 0

    def size_of(_: Step) -> float:
        nonlocal at
        before, at = at, reading.counts.position
        return at - before if at else inf

    return some_at_a_time(reading.steps(), size_of)
