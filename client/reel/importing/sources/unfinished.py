"""Answers that a tool has not finished: each waits for the next import, unless nobody has written to it for a while."""

from collections.abc import Iterable, Iterator
from time import time

from reel.importing.steps import Compacted, Counts, Said, Step
from reel.importing.values import AS_WRITTEN

# The rule for such an answer.
UNFINISHED = "answer that is being written"
# An answer that nobody has written to for so many milliseconds, a minute, is not waited for: its program was killed, or
# the model thinks, or a call takes long.
LEFT = 60_000


def may_go_on(written: int) -> bool:
    """Return whether an answer is still being written.

    Args:
        written: when its program last wrote, in milliseconds since the epoch.
    """
    return abs(time() * 1000 - written) < LEFT  # the clock may have been ahead


def postpone(counts: Counts, records: int = 1) -> None:
    """Count the records of an answer that is left for the next import, although its source may not change again."""
    counts.unfinished = True
    for _ in range(records):
        counts.ignore(UNFINISHED)


def as_far_as_written(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of an answer that is not waited for; if it goes on nevertheless, it takes their place.

    Its records change where they are, under the ids that they have. So what they say now gets ids of its own. It is
    known again by what it says: an id that is made of words would still tell these after they were redacted.
    """
    for step in steps:
        match step:
            case Said():
                yield _as_now(step)
            case Compacted():
                yield step._replace(summary=_as_now(step.summary))
            case _:
                yield step


def _as_now(said: Said) -> Said:
    parts = (part._replace(ref=f"{part.ref}{AS_WRITTEN}") for part in said.parts)
    return said._replace(parts=tuple(parts))
