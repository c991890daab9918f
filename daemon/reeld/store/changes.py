"""Counters in memory that clients share: by them a client sees, without a request, that an agent is as it knows it.

A framework reads a conversation before each turn, and in most cases nobody else has changed it. A request that says so
costs a client and the daemon a wake-up each, as much as the rest of a short read.

The memory is a file without a name, which clients open through ``/proc`` and map for reading. It has one counter for
what may change any agent (an agent that is created, renamed, killed or revived, an erasure), and many for single
agents, by a checksum of their ids. Two agents may share one; then a client asks once too often.

A counter goes up twice: before a commit, because from then on others may read it in the log, and after it, before
anybody is told of it. A client that learns the counters between the two, and is told nothing new yet, notices the
second time. So whoever finds the counters as they were knows that nothing has changed that anybody could have heard of.
They go up by the number of events, so that a client can tell its own command from that and others: writes of several
clients may share a transaction. If the commit failed, that of all agents goes up as well.

Other daemons that use the same database on a server do not count here: there, clients are offered nothing.
"""

import fcntl
import mmap
import os
import secrets
from typing import Any
from weakref import finalize
from zlib import crc32

from reeld.store.transactions import Transaction

# 32 KiB. Conversations that are used at once are fewer.
_COUNTERS = 4094
# Before the counters of agents: what tells this file from others, and the counter of what may change any agent.
_ID, _ANY, _FIRST = 0, 1, 2
# Linux: no more seals, no change of the length. The other one, that later mappings cannot write, is of Linux 5.1.
_SEALS = 0x1 | 0x2 | 0x4
_FUTURE_WRITE = 0x10


class Changes:
    """Counts what is committed. Where the daemon can have no such file, it counts for nobody."""

    def __init__(self) -> None:
        size = (_FIRST + _COUNTERS) * 8
        shared = _sealed_memory(size)
        self._file: int | None = None
        if shared is None:
            memory = mmap.mmap(-1, size)
        else:
            self._file, memory = shared
            finalize(self, os.close, self._file)
        self._counts = memoryview(memory).cast("Q")
        self._counts[_ID] = secrets.randbits(64)

    @property
    def offer(self) -> dict[str, Any] | None:
        """What a client needs to share them, as ``hello`` says it; ``None`` if it cannot."""
        if self._file is None:
            return None
        path = f"/proc/{os.getpid()}/fd/{self._file}"
        return {"path": path, "id": f"{self._counts[_ID]:016x}", "counters": _COUNTERS}

    def note(self, transaction: Transaction) -> None:
        """Count a transaction: before it is committed, and once more when it was, or may have been."""
        for part in transaction.parts:
            self._counts[_FIRST + crc32(part.profile.uid.encode()) % _COUNTERS] += len(part.events)
            if part.new or part.changed:
                self.note_any()
        if transaction.decision is not None:
            self.note_any()

    def note_any(self) -> None:
        """Count what may have changed any agent."""
        self._counts[_ANY] += 1


def _sealed_memory(size: int) -> tuple[int, mmap.mmap] | None:
    """Return a file in memory, and its memory; ``None`` if there are none here, or this process may have none."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = os.memfd_create("reel-changes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return None
    try:
        os.ftruncate(file, size)
        memory = mmap.mmap(file, size)
        _seal(file)
    except OSError:
        os.close(file)
        return None
    return file, memory


def _seal(file: int) -> None:
    """Keep the length of a file, without which a client that reads it could be killed, and keep others from writing."""
    try:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS | _FUTURE_WRITE)
    except OSError:  # an older Linux
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
