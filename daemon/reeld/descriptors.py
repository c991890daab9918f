"""How many files and sockets the process may have open."""

import logging
import resource

log = logging.getLogger(__name__)

# What is open beside the connections: the database, its readers, the log, the loops, and those who are turned away.
RESERVE = 96


def make_room(connections: int) -> int:
    """Let the process have as many open as its connections need; give how many connections it can have."""
    needed = connections + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < needed:
        log.warning("%d open files are allowed (ulimit -Hn): connections are limited to %d", hard, _fit(soft))
    return min(connections, _fit(soft))


def _fit(files: int) -> int:
    return max(1, files - RESERVE)
