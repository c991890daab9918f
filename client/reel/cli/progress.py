"""What is being waited for: said on a terminal once it takes a moment, and gone when it is over."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds before anything is said, and between two signs of life.
_MOMENT = 1.0
_ERASE = "\r\x1b[K"


@contextmanager
def waiting(terminal: int, what: Callable[[], str]) -> Iterator[None]:
    """Say what the block waits for, as long as it takes; a block inside another one leaves that to it.

    Args:
        terminal: its descriptor; nothing else may be printed on it meanwhile.
        what: asked anew each time, so that it can count.
    """
    if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
        yield
        return
    began = time.monotonic()
    said = False

    def say(_number: int, _frame: FrameType | None) -> None:
        nonlocal said
        said = True
        # Past Python's buffers, which the signal may have come in the middle of.
        os.write(terminal, f"{_ERASE}{what()} … {time.monotonic() - began:.0f} s".encode())

    before = signal.signal(signal.SIGALRM, say)
    signal.setitimer(signal.ITIMER_REAL, _MOMENT, _MOMENT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if said:
            os.write(terminal, _ERASE.encode())
