"""The exit statuses of this command, on which scripts rely, so they do not change."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

OK = 0
REFUSED = 1
USAGE = 2
NOT_RUNNING = 3
NOT_FOUND = 4
CONFLICT = 5
# An answer that its provider cut, refused or left empty; it was added.
CUT = 6
# As a shell reports a process that a signal ended: 128 and the number of the signal.
HUNG_UP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

_OF_SIGNALS = (HUNG_UP, INTERRUPTED, TERMINATED)

_STATUS = {"not_running": NOT_RUNNING, "not_found": NOT_FOUND, "conflict": CONFLICT}


class Ended(BaseException):
    """A signal ends the command, as KeyboardInterrupt does; ``status`` is its exit status.

    Args:
        number: the number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def status_of(error: str) -> int:
    """Return the exit status for an error of this name."""
    return _STATUS.get(error, REFUSED)


def exit_with(status: int) -> NoReturn:
    """Exit with a status, at once: the interpreter would free every object first, which takes 6 ms.

    After Ctrl-C, SIGTERM or SIGHUP, die of the signal itself, so that a loop of the shell ends as well.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any longer
            stream.flush()
    if status in _OF_SIGNALS:
        import signal  # noqa: PLC0415 - it is slow to import, and seldom needed

        number = status - 128
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(status)
