"""The daemon's counters of changes, in memory that it shares; the daemon's half is :mod:`reeld.store.changes`."""

from __future__ import annotations

import fcntl
import mmap
import os
from weakref import WeakValueDictionary
from zlib import crc32

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    # The counter of what may change any agent, and that of one agent.
    Fingerprint: TypeAlias = tuple[int, int]

# The number that tells the file from others, and the counter of what may change any agent, come before the counters of
# agents.
_ID, _ANY, _FIRST = 0, 1, 2
# Sealed against truncation: a process that reads a mapped page beyond the end of its file gets a SIGBUS.
_SHRINK = 2
_GET_SEALS = 1034
# What may lie at the path in another container is opened without waiting, and never becomes this process's terminal.
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Changes:
    """The counters of a daemon.

    Args:
        counts: the memory, as numbers of 64 bits.
    """

    def __init__(self, counts: memoryview[Any]) -> None:
        self._counts = counts
        self._counters = len(counts) - _FIRST

    def fingerprint(self, agent: str) -> Fingerprint:
        """Return the counters that go up with the next change to an agent.

        Args:
            agent: its id.
        """
        return self._counts[_ANY], self._counts[_FIRST + crc32(agent.encode()) % self._counters]


# What is mapped, by what was offered: however many clients a process has, they share one mapping, and its descriptor.
_mapped: WeakValueDictionary[tuple[str, str, int], Changes] = WeakValueDictionary()


def share(offer: Any) -> Changes | None:
    """Return the counters that a daemon offers, or ``None`` if they cannot be read here, as in another container.

    Args:
        offer: what ``hello`` says of them.
    """
    try:
        path, name, counters = offered = offer["path"], offer["id"], offer["counters"]
        if (known := _mapped.get(offered)) is not None:
            return known
        counts = _map(path, (_FIRST + counters) * 8)
        if counts is None or counters < 1 or counts[_ID] != int(name, 16):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    _mapped[offered] = changes = Changes(counts)
    return changes


def _map(path: str, size: int) -> memoryview[Any] | None:
    """Return the memory of a file, or ``None`` if it has another size, or may become shorter."""
    file = os.open(path, _READING)
    try:
        if not fcntl.fcntl(file, _GET_SEALS) & _SHRINK or os.fstat(file).st_size != size:
            return None
        return memoryview(mmap.mmap(file, size, access=mmap.ACCESS_READ)).cast("Q")
    finally:
        os.close(file)
