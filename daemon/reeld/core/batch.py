"""Batches of work: what a whole batch has in common is done once, at its end, without waking a task.

The requests of one chunk submit transactions, and settling a commit fills the outboxes of many connections, some of
them many times. During such a batch the writer and the outboxes only register for its end. Then the writer begins one
commit, and each connection sends its whole queue with one system call. Outside of a batch they wake a task for that,
which costs a turn of the event loop.
"""

from collections import deque
from collections.abc import Callable
from types import TracebackType


class Batch:
    """A context manager whose block is one batch. Blocks may be nested; only the outermost counts."""

    def __init__(self) -> None:
        self._depth = 0
        self._noted: deque[Callable[[], None]] = deque()
        # What is done before the rest.
        self._urgent: deque[Callable[[], None]] = deque()

    def __enter__(self) -> None:
        """Begin a batch."""
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End a batch, whether it failed or not."""
        try:
            while self._depth == 1 and (self._urgent or self._noted):
                (self._urgent or self._noted).popleft()()
        finally:  # after a bug the next batch does the rest
            self._depth -= 1

    def note(self, function: Callable[[], None], *, urgent: bool = False) -> bool:
        """Call a function at the end of the batch; return whether there is a batch at all.

        Args:
            function: the function.
            urgent: whether to call it before those that are not.
        """
        if self._depth:
            (self._urgent if urgent else self._noted).append(function)
            return True
        return False
