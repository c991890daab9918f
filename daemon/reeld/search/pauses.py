"""How long the index waits: after a batch, for others, and before it is built once more."""

# While others write as much as the index takes in, or more, it pauses for this many times the duration of a batch. It
# shares the interpreter and the processors with them: without a pause, 8 pipelining clients completed 8,700 to 12,600
# adds a second, and 20,500 to 22,500 without an index. The less they write, the shorter it pauses, so that what is
# behind is found soon.
_RESTS = 3.0
_LEAST_RESTS = 0.5
# Seconds of a batch that count: one that took longer had to wait, as for a process that somebody stopped.
_LONGEST = 2.0
# Seconds for which an index must have worked to be rebuilt without a pause.
_CALM = 3600.0
# Seconds of the first pause.
_FIRST = 60.0


class Pauses:
    """The pauses before rebuilding an index: none, unless rebuilds happen repeatedly."""

    def __init__(self) -> None:
        self._next = 0.0
        self._built = -_CALM

    def next(self, now: float) -> float:
        """Return how many seconds to wait; the pause doubles each time, until an index has worked for an hour."""
        if now - self._built >= _CALM:
            self._next = 0.0
        pause, self._next = self._next, min(max(2 * self._next, _FIRST), _CALM)
        self._built = now + pause
        return pause


def pause_after(seconds: float, written: int, indexed: int) -> float:
    """Return how many seconds the index pauses after a batch.

    Args:
        seconds: how long the batch took.
        written: how many events others wrote during the batch.
        indexed: how many events the batch had.
    """
    return min(seconds, _LONGEST) * max(_LEAST_RESTS, _RESTS * min(1.0, written / max(1, indexed))) if written else 0.0
