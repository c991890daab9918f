"""A text that is printed while it comes."""

import errno
import sys
from contextlib import ExitStack

from reel.base.values import clean
from reel.cli.screen.output import Output

# Why a write fails if nobody reads: a pipe, or a terminal, was closed.
_CLOSED = (errno.EPIPE, errno.EIO)


class Echo:
    """Prints an answer piece by piece as it comes, unless results are JSON; once stdout is closed, it prints nothing.

    Args:
        out: where to print.
    """

    def __init__(self, out: Output) -> None:
        self._out = out
        self._wanted = not out.as_json
        self._last = ""
        self._until_text = ExitStack()
        # Whether stdout was closed before the end.
        self.closed = False

    def wait(self, what: str) -> None:
        """Show the reason of the wait until the first text arrives."""
        self._until_text.enter_context(self._out.waiting(what, midway=True))

    def write(self, text: str) -> None:
        """Print a piece."""
        if not text:
            return
        self._until_text.close()
        self._last = text
        if not self._wanted:
            return
        try:
            self._show(text)
            sys.stdout.flush()
        except OSError as error:
            if error.errno not in _CLOSED:
                raise
            self._wanted, self.closed = False, True

    def _show(self, text: str) -> None:
        self._out.piece(clean(text)[0])

    def end(self) -> None:
        """End the last line, if there is one."""
        self._until_text.close()
        if self._last and not self._last.endswith("\n"):
            self.write("\n")
