"""Takes the steps of a source some at a time: the reader makes a few, then they are masked, then added.

The code of the reader, of what looks for secrets and of what adds is more than the caches of a processor next to it
hold. To go through all of it for each step took a fifth more time than to stay in one part for some steps.
"""

from collections.abc import Iterator

from reel.importing.steps import Reading, Step

# The most steps of a batch, and how many bytes of the source are read for one: a single record may be longer.
_STEPS, _BYTES = 32, 64 << 10


def batches(reading: Reading) -> Iterator[list[Step]]:
    """Yield the steps of a source, some at a time; those before an error come before that.

    A reader that does not know where in its source it is counts a record after it has yielded what becomes of it: each
    of its steps is a batch.

    Raises:
        Exception: what the reader raises.
    """
    some, begin, failure = list[Step](), 0, None
    try:
        for step in reading.steps():
            some.append(step)
            at = reading.counts.position
            if not at or len(some) == _STEPS or at - begin >= _BYTES:
                yield some
                some, begin = [], at
    except Exception as error:
        failure = error
    yield some
    if failure is not None:
        raise failure
