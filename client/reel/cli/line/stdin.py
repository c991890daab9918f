"""Whether stdin has data, found out without reading any of it.

A stdin that is not a terminal may still be empty: cron and ``xargs`` pass ``/dev/null``, and a program that starts
another one often passes a pipe or a socket that it never writes to.
"""

import os
import select
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

# Identifies the stdin of a command that runs for an event by the numbers of its device and its inode, as systemd's
# ``$JOURNAL_STREAM`` does. A command that such a command starts inherits both the variable and the stdin.
EVENT = "REEL_EVENT_STDIN"


class Content(Enum):
    """Whether stdin has data."""

    NOTHING = auto()
    SOMETHING = auto()
    # It is open, and nothing has arrived so far.
    SILENT = auto()


def peek(stdin: int, timeout: float) -> Content:
    """Return whether a descriptor has data, without reading it.

    Args:
        stdin: the descriptor.
        timeout: how many seconds to wait for the first byte or the end of a pipe.
    """
    try:
        return _peek(stdin, os.fstat(stdin), timeout)
    except OSError:
        return Content.NOTHING  # it cannot be read, so it has nothing


def _peek(stdin: int, status: os.stat_result, timeout: float) -> Content:
    if os.environ.get(EVENT) == _stream_id(status) or os.isatty(stdin):
        return Content.NOTHING
    if stat.S_ISREG(status.st_mode):
        return _something_if(os.pread(stdin, 1, os.lseek(stdin, 0, os.SEEK_CUR)))
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev:
        return Content.NOTHING
    poll = select.poll()
    poll.register(stdin, select.POLLIN)
    ready = poll.poll(timeout * 1000)
    if not ready:
        return Content.SILENT
    if stat.S_ISSOCK(status.st_mode):
        with socket.socket(fileno=os.dup(stdin)) as peer:
            return _something_if(peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    return _something_if(ready[0][1] & select.POLLIN)  # a pipe at its end has POLLHUP only


def _something_if(sign: bytes | int) -> Content:
    return Content.SOMETHING if sign else Content.NOTHING


def _stream_id(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


@contextmanager
def event_stdin(event: bytes) -> Iterator[tuple[int, str]]:
    """Create the stdin of a command that runs for an event.

    It is a file without a name: the buffer of a pipe may be smaller than the event, and the writer would wait for a
    command that does not read its stdin.

    Yields:
        its descriptor, and its value for ``$REEL_EVENT_STDIN``.
    """
    from tempfile import TemporaryFile  # noqa: PLC0415 - only --exec needs it

    with TemporaryFile(buffering=0) as file:
        file.write(event)
        file.seek(0)
        yield file.fileno(), _stream_id(os.fstat(file.fileno()))
