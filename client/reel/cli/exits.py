"""The exit statuses, which scripts may rely on."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

OK = 0
REFUSED = 1
USAGE = 2
NOT_RUNNING = 3
NOT_FOUND = 4
CONFLICT = 5
# As a shell counts a process that a signal ended.
INTERRUPTED = 130
BROKEN_PIPE = 141

_STATUS = {"not_running": NOT_RUNNING, "not_found": NOT_FOUND, "conflict": CONFLICT}


def status_of(error: str) -> int:
    """Give the status that stands for an error of this name."""
    return _STATUS.get(error, REFUSED)


def exit_with(status: int) -> NoReturn:
    """End the process; what was interrupted by the signal itself, so that a shell's loop around it ends as well."""
    if status == INTERRUPTED:
        import signal  # noqa: PLC0415 - it takes a while, and is seldom needed

        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(status)
