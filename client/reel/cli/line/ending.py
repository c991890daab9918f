"""SIGTERM and SIGHUP while an answer arrives: they end the command as Ctrl-C does, so what has come is not lost.

Elsewhere they keep their default, which ends the command at once: there is nothing to lose.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from reel.cli.line.exits import Ended

# A closed terminal sends SIGHUP.
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ending:
    """What the signals do inside :func:`ended_by_signals`."""

    def __init__(self) -> None:
        # The first signal that came.
        self.number: int | None = None
        self._is_deferred = False

    def defer(self) -> None:
        """Let a signal wait for the end of the block from now on: what has come is being added."""
        self._is_deferred = True

    def take(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal.

        Only the first is raised. A closed terminal often sends two, its own and the shell's, and the second must not
        break off the adding.
        """
        if self.number is not None:
            return
        self.number = number
        if not self._is_deferred:
            raise Ended(number)


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Let the block end by an exception if a signal comes. A signal that is ignored, as by nohup, stays so.

    Raises:
        Ended: a signal came, whatever the block did about it.
    """
    ending, before = Ending(), {}
    with suppress(ValueError):  # not the main thread, which alone may do this
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, ending.take)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if ending.number is not None:
            raise Ended(ending.number)
