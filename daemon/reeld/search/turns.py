"""Work of several steps on a reading connection, in turns with the work of others.

A search is a look-up, a ranking of what was found and a look at the best. Each of them as a job of its own would hand
over between two threads, which takes about as long as a short one itself.
"""

import sqlite3
import time
from collections.abc import Generator
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from reel.base.light_typing import NamedTuple
from reeld.store.connection_thread import Job

T = TypeVar("T")
# Seconds after which no further step is taken in a turn. A step ends by itself after about twice as many.
_SECONDS = 0.015
# Asks for a connection before each step, and returns the result. It must not keep a cursor that is not at its end.
Steps: TypeAlias = Generator[None, sqlite3.Connection, T]


class Readable(Protocol):
    """Something that runs jobs on a connection."""

    async def read(self, job: Job[T]) -> T:
        """Run a job."""


class _Done(NamedTuple):
    result: object


async def take(steps: Steps[T], readable: Readable) -> T:
    """Take steps until the last one, in as many jobs as that takes; return the result."""
    next(steps)
    done: _Done | None = None
    while done is None:
        done = await readable.read(partial(_turn, steps))
    return done.result  # type: ignore[return-value]  # it is that of the steps


def _turn(steps: Steps[T], connection: sqlite3.Connection) -> _Done | None:
    """Take steps as long as there is time; return the result after the last one."""
    ends = time.monotonic() + _SECONDS
    while True:
        try:
            steps.send(connection)
        except StopIteration as last:
            return _Done(last.value)
        if time.monotonic() > ends:
            return None
