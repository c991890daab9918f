"""What others say while one types: it is shown at once, and the typed line comes back below it.

A thread follows the conversation. When something comes, it sends the main thread a signal, which wakes readline: the
handler then runs between two keys, where it may print. A hook that readline calls would be called ten times a second,
and swallow Ctrl-C; a thread that prints would do so in the middle of a key.
"""

from __future__ import annotations

import readline
import signal
import threading
from contextlib import suppress

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.typed_line import TypedLine
from reel.wire.pushes import DraftPush

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any, Self

    from reel.cli.screen.output import Line, Output
    from reel.sync.subscription import Subscription

# A signal that does nothing to a program that does not handle it.
_SIGNAL = signal.SIGURG
# Seconds after which the main thread is woken again: one that comes just before it waits for a key is not noticed.
_AGAIN = 0.2


class Arrivals:
    """Prints what comes while a line is typed.

    Args:
        subscription: what comes.
        out: where to print.
        look: returns the lines of what has come and was not shown yet.
    """

    def __init__(self, subscription: Subscription, out: Output, look: Callable[[], list[Line]]) -> None:
        self._subscription = subscription
        self._out = out
        self._look = look
        self._typed = TypedLine()
        self._main = threading.get_ident()
        self._before: Any = None
        # Whether something has come that nobody has looked at, and whether a line is being typed.
        self._has_come = self._is_typing = False
        # The signal may come while something is looked at: a second request then would take the first one's reply.
        self._is_looking = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="arrivals")

    def __enter__(self) -> Self:
        if self._typed.can_be_redrawn:
            self._before = signal.signal(_SIGNAL, self._wake)
            readline.set_pre_input_hook(self._begin)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._subscription.close()
        if self._thread.ident is not None:
            self._thread.join()
            readline.set_pre_input_hook(None)
            signal.signal(_SIGNAL, self._before)

    def pause(self) -> None:
        """Print nothing until the next line is typed."""
        self._is_typing = False

    def _follow(self) -> None:
        """Wake the main thread for what comes, until it has looked at it."""
        with suppress(ReelError):  # the daemon is gone; the next command says so
            for push in self._subscription:
                self._has_come = self._has_come or not isinstance(push, DraftPush)
                while self._has_come and self._is_typing and not self._is_over.is_set():
                    signal.pthread_kill(self._main, _SIGNAL)
                    self._is_over.wait(_AGAIN)

    def _begin(self) -> None:
        """Take note that readline shows its prompt and waits for a key."""
        self._is_typing = True
        self._show()

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_typing:
            self._show()

    def _show(self) -> None:
        """Print what has come, between the lines before the prompt and the prompt."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            while self._has_come:
                self._has_come = False
                with suppress(ReelError, OSError):  # as above, or the terminal was closed
                    self._print(self._look())
        finally:
            self._is_looking = False

    def _print(self, lines: list[Line]) -> None:
        if lines:
            self._typed.clear()
            self._out.lines(lines)
            self._out.line()
            self._typed.redraw()
