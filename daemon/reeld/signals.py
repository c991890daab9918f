"""What signals do to a process that does not handle them yet. It imports nothing that takes long to import."""

import os
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def end_with_a_word() -> None:
    """Let the signals that stop the daemon end it as usual, but with a word and no traceback, until it handles them.

    SIGHUP is one of them only on a terminal, which is then closed; otherwise it asks a daemon that serves to reload.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, _end)
    signal.signal(signal.SIGHUP, _end if on_terminal() else signal.SIG_IGN)


def on_terminal() -> bool:
    """Return whether stderr is a terminal."""
    return os.isatty(2)


def end_by(number: int) -> None:
    """End this process by a signal, so that whoever waits for it knows why."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end(number: int, _frame: FrameType | None) -> None:
    os.write(2, f"reeld: ended by {signal.Signals(number).name}\n".encode())  # printing is not safe in a handler
    end_by(number)
