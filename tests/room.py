"""Room for one: what takes hundreds of megabytes runs one at a time, whichever worker it is in."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def room_for_one(places: pytest.TempPathFactory) -> Iterator[None]:
    """Wait until no other worker of this run has the room, and keep it meanwhile."""
    with (places.getbasetemp().parent / "room.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
