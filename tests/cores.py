"""A core for each process that runs tests: on several, it takes up to a third more of their time.

The threads of a test's event loop and of its database take turns, as only one can have the interpreter. If the next
one sleeps on another core, the system has to wake that core each time. The same is true of a command and its daemon.
"""

import os
import socket
from collections.abc import Iterable

# A socket of this name, which is nowhere in the file system, is held by whoever has the core.
_NAME = "\0reel-tests-core-{}"
_held: list[socket.socket] = []


def keep_to_one_core() -> None:
    """Keep this process and what it starts to a core that no other process with tests has, if there is one.

    Only Linux can do that.
    """
    if hasattr(os, "sched_setaffinity"):
        core = claim(sorted(os.sched_getaffinity(0)), _held)
        if core is not None:
            os.sched_setaffinity(0, {core})


def claim(cores: Iterable[int], held: list[socket.socket]) -> int | None:
    """Return the first core that nobody has, if there is one; it is claimed while the socket lasts that is held."""
    for core in cores:
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(_NAME.format(core))
        except OSError:
            mark.close()
        else:
            held.append(mark)
            return core
    return None
