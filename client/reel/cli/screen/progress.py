"""What a command waits for, on a terminal, while it waits."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_ERASE = "\r\x1b[K"
# Seconds before progress is shown, and between two updates.
_MOMENT = 1.0


@contextmanager
def show_progress(terminal: int, what: Callable[[], str]) -> Iterator[None]:
    """Show what the block waits for while it runs. Inside another such block this does nothing.

    Args:
        terminal: the descriptor of the terminal; nothing else may be printed on it meanwhile.
        what: returns the text, for each update.
    """
    if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
        yield
        return
    began = time.monotonic()
    said = False

    def say(_number: int, _frame: FrameType | None) -> None:
        nonlocal said
        said = True
        # Not through Python's buffers: the signal may have interrupted a write to them.
        with suppress(OSError):  # the terminal was closed
            os.write(terminal, f"{_ERASE}{what()} … {time.monotonic() - began:.0f} s".encode())

    before = signal.signal(signal.SIGALRM, say)
    signal.setitimer(signal.ITIMER_REAL, _MOMENT, _MOMENT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if said:
            with suppress(OSError):  # as above
                os.write(terminal, _ERASE.encode())
