"""What stdin has, told without reading any of it.

A stdin that is no terminal may still have nothing: cron and ``xargs`` give ``/dev/null``, a program that starts
another one often a pipe or a socket that it never writes to.
"""

import os
import select
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

# Names the stdin of a command that runs for an event, as ``$JOURNAL_STREAM`` of systemd names a stream: the numbers
# of its device and its inode. A command that such a command starts inherits both the variable and the stdin.
EVENT = "REEL_EVENT_STDIN"


class Content(Enum):
    """What a stdin has."""

    NOTHING = auto()
    SOMETHING = auto()
    # It is open and has brought nothing so far.
    SILENT = auto()


def content(stdin: int, patience: float) -> Content:
    """Return what a descriptor has, and leave it there.

    Args:
        stdin: the descriptor.
        patience: how long to wait for the first byte or the end of a pipe, in seconds.
    """
    try:
        return _content(stdin, os.fstat(stdin), patience)
    except OSError:
        return Content.NOTHING  # what cannot be read brings nothing


def _content(stdin: int, found: os.stat_result, patience: float) -> Content:
    if os.environ.get(EVENT) == _name(found) or os.isatty(stdin):
        return Content.NOTHING
    if stat.S_ISREG(found.st_mode):
        return _either(os.pread(stdin, 1, os.lseek(stdin, 0, os.SEEK_CUR)))
    if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev:  # noqa: PTH116 - pathlib costs 4 ms
        return Content.NOTHING
    poll = select.poll()
    poll.register(stdin, select.POLLIN)
    ready = poll.poll(patience * 1000)
    if not ready:
        return Content.SILENT
    if stat.S_ISSOCK(found.st_mode):
        with socket.socket(fileno=os.dup(stdin)) as peer:
            return _either(peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    return _either(ready[0][1] & select.POLLIN)  # a pipe at its end has POLLHUP alone


def _either(sign: bytes | int) -> Content:
    return Content.SOMETHING if sign else Content.NOTHING


def _name(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}"


@contextmanager
def event_stdin(event: bytes) -> Iterator[tuple[int, str]]:
    """Make the stdin of a command that runs for an event.

    It is a file in memory: a pipe's buffer may be smaller than the event, and its writer would wait for a command that
    does not read it.

    Yields:
        its descriptor, and its name for ``$REEL_EVENT_STDIN``.
    """
    with open(os.memfd_create("event"), "w+b", buffering=0) as file:  # noqa: PTH123 - it has no path
        file.write(event)
        file.seek(0)
        yield file.fileno(), _name(os.fstat(file.fileno()))
