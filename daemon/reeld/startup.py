"""Preconditions for serving: the locks and the limit of open files, and the exit status if one is not met."""

import fcntl
import logging
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join

from reel.address import default_socket

log = logging.getLogger(__name__)

# Exit statuses. They are stable: a supervisor decides by them whether starting again can help.
OK = 0
USAGE = 2
ALREADY_RUNNING = 3
CANNOT_START = 4

# Files that are open in addition to the connections: the database and its readers, the log, the event loops, and the
# connections that are being refused.
_OTHER_FILES = 96


class StartupError(Exception):
    """The daemon cannot start with these settings; the message says what to do."""

    status = CANNOT_START


class AlreadyRunning(StartupError):
    """Another daemon holds the socket or the database."""

    status = ALREADY_RUNNING


@contextmanager
def lock(path: str, what: str, socket: str = "") -> Iterator[int]:
    """Hold an exclusive lock on ``<path>.lock`` until the block or the process ends; yield the file's descriptor.

    The file is never removed: a daemon that removed it could remove the one that another daemon has just locked.

    Args:
        path: what is locked.
        what: its name in messages.
        socket: where we listen, for the error message of others who find it locked; empty if we do not.

    Raises:
        AlreadyRunning: another process holds the lock; the message has its pid.
        StartupError: the file cannot be made, opened or written.
    """
    name = f"{path}.lock"
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartupError(f"cannot lock {what} {path}: {name}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, listens = _holder(descriptor)
            where = f" and listens on {listens}" if listens not in ("", path) else ""
            held = f"another reeld is running (pid {pid}){where}; it holds {what} {path}"
            raise AlreadyRunning(f"{held}; end it with: {_stop(listens)}") from None
        except OSError as error:  # ENOLCK: some network file systems have no locks
            raise StartupError(
                f"cannot lock {what} {path}: {name}: {error.strerror}; choose a path on a file system with locks"
            ) from error
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, os.fsencode(f"{os.getpid()}\n{socket}\n" if socket else f"{os.getpid()}\n"))
        except OSError as error:
            raise StartupError(f"cannot lock {what} {path}: {name}: {error.strerror}") from error
        yield descriptor
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> tuple[str, str]:
    """Return the process that holds the lock and its socket, as the file names them; the content is not trusted."""
    pid, _, socket = (_printable(text) for text in os.fsdecode(os.read(descriptor, 4096)).strip().partition("\n"))
    return pid or "unknown", socket


def _stop(socket: str) -> str:
    """Return the command that stops the daemon on a socket; it names the socket unless every command uses it."""
    is_default = not socket or socket == default_socket()
    return "reel stop" if is_default else join(["reel", "--socket", socket, "stop"])


def _printable(text: str) -> str:
    """Return a text with control characters escaped, which a terminal would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def raise_file_limit(connections: int) -> int:
    """Raise the limit of open files to what these connections need; return how many connections are possible."""
    needed = connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    possible = max(1, soft - _OTHER_FILES)
    if soft < needed:
        log.warning("%d open files are allowed (ulimit -Hn): connections are limited to %d", hard, possible)
    return min(connections, possible)
