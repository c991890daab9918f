"""What signals do to a process that does not handle them yet. It imports nothing that takes long to import."""

import os
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_HELD = (*STOP_SIGNALS, signal.SIGHUP)


def end_with_a_word() -> None:
    """Let the signals that stop the daemon end it as usual, but with a word and no traceback, until it handles them.

    SIGHUP is one of them only on a terminal, which is then closed; otherwise it asks a daemon that serves to reload.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, _end)
    signal.signal(signal.SIGHUP, _end if on_terminal() else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def hold_signals() -> None:
    """Let these signals wait until :func:`end_with_a_word`, even if this process runs another program meanwhile.

    That program has none of our handlers. A signal that Python has got and not yet passed on to its handler is lost.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


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
