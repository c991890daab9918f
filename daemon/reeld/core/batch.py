"""Batches of work: what is common to all of a batch is done once, at its end, and without waking a task.

A chunk of requests submits transactions, and a commit that is settled fills the outboxes of many connections, some of
them many times. During such a batch the writer and the outboxes only note what is to be done. At its end the writer
begins one commit, and each connection sends what it got with one system call. Outside of a batch they wake a task for
that, which costs a turn of the event loop.
"""

from collections import deque
from collections.abc import Callable
from types import TracebackType


class Batch:
    """A context manager: what is done in its block is one batch. Blocks may be nested; the outermost counts."""

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
        finally:  # after a bug the next batch does what is left
            self._depth -= 1

    def note(self, function: Callable[[], None], *, urgent: bool = False) -> bool:
        """Call a function at the end of the batch; return whether there is one, or the caller must help itself.

        Args:
            function: the function.
            urgent: whether to call it before those that are not.
        """
        if self._depth:
            (self._urgent if urgent else self._noted).append(function)
            return True
        return False
