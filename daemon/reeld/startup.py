"""Preconditions for serving: the limits of the process, its name, and the exit status if one is not met."""

import logging
import resource
from contextlib import suppress

from reeld.store.unavailable import passes

log = logging.getLogger(__name__)

# Exit statuses. They are stable: a supervisor decides by them whether starting again can help.
OK = 0
FAILED = 1
USAGE = 2
ALREADY_RUNNING = 3
CANNOT_START = 4

# Files that are open in addition to the connections: the database and its readers, the log, the event loops, and the
# connections that are being refused.
_OTHER_FILES = 96
# With fewer, hardly a client could connect.
_FEWEST_FILES = 100


class StartupError(Exception):
    """The daemon cannot start with these settings; the message says what to do."""

    status = CANNOT_START


class NotNow(StartupError):
    """The daemon cannot start now, for a reason that may pass: a disk that is full, a server that is down."""

    status = FAILED


class AlreadyRunning(StartupError):
    """Another daemon holds the socket or the database."""

    status = ALREADY_RUNNING


def leave_no_core() -> None:
    """Write no core dump: it would hold conversations. The hard limit stays, for whoever wants one of this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def take_name() -> None:
    """Be called ``reeld`` in lists of processes, and not Python, however it was started; on Linux only."""
    with suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write("reeld")


def cannot(what: str, error: OSError, remedy: str = "") -> StartupError:
    """Return the error for something that the system refused: one that may pass, or one that needs somebody."""
    said = f"{what}: {error.strerror}"
    return (NotNow if passes(error) else StartupError)(f"{said}; {remedy}" if remedy else said)


def raise_file_limit(connections: int) -> int:
    """Raise the limit of open files to what these connections need; return how many connections are possible.

    Raises:
        StartupError: the system allows too few for a daemon.
    """
    needed = connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft < _FEWEST_FILES:
        raise StartupError(
            f"{hard} open files are allowed (ulimit -Hn), and reeld needs {_FEWEST_FILES} or more; raise the limit"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    possible = soft - _OTHER_FILES
    if soft < needed:
        log.warning("%d open files are allowed (ulimit -Hn): connections are limited to %d", hard, possible)
    return min(connections, possible)
