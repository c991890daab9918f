"""Work for which nobody waits: checkpoints, old keys, traces, the search index, backups, metrics.

A disk that fails or is full, or a page that another program has locked, must not end the daemon meanwhile: it serves as
well without that work. So a failure is logged, shown in the status and tried again. That goes for a bug as well; it is
logged with its traceback.
"""

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio

from reel.base.errors import ReelError

log = logging.getLogger(__name__)

# Seconds until a task that has failed is started again.
_AGAIN = 60.0


class Housekeeping:
    """Knows what fails at the moment."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    @property
    def problem(self) -> str | None:
        """What fails at the moment and why, as a sentence; ``None`` if nothing does."""
        if not self._problems:
            return None
        return f"{', '.join(f'{what}: {why}' for what, why in self._problems.items())}; it is tried again"

    async def attempt(self, what: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do some work; return whether it succeeded.

        Args:
            what: names the work, as the beginning of a sentence.
            work: does it.
        """
        with self.attempting(what):
            await work()
        return what not in self._problems

    @contextmanager
    def attempting(self, what: str) -> Iterator[None]:
        """Note whether the block fails; a failure ends the block, and nothing else.

        Args:
            what: names what the block does, as the beginning of a sentence.
        """
        try:
            yield
        except Exception as error:
            self._fail(what, error)
        else:
            if self._problems.pop(what, None) is not None:
                log.warning("%s works again", what)

    def _fail(self, what: str, error: Exception) -> None:
        """Note a failure; log it when it begins and when its reason changes."""
        why = _reason(error)
        if self._problems.get(what) != why:
            bug = None if isinstance(error, OSError | ReelError | sqlite3.Error | MemoryError) else error
            log.error("%s failed, and is tried again: %s", what, why, exc_info=bug)
        self._problems[what] = why

    async def keep_going(self, what: str, task: Callable[[], Awaitable[object]]) -> None:
        """Run a task; if it fails, start it again after a pause.

        Args:
            what: names the task, as the beginning of a sentence.
            task: runs until it is cancelled, or has nothing to do.
        """
        while not await self.attempt(what, task):
            await anyio.sleep(_AGAIN)
            self._problems.pop(what, None)  # as far as is known


def _reason(error: Exception) -> str:
    """Return why something failed, without anything that it may quote of a conversation."""
    match error:
        case ReelError():
            return error.message
        case OSError():
            return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        case sqlite3.Error():
            return str(error)
        case MemoryError():
            return "there is not enough memory"
        case _:
            return f"a bug, see the log ({type(error).__name__})"
