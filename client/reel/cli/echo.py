"""The text of an answer, printed while it comes."""

import sys
from contextlib import ExitStack

from reel.cli.output import Output
from reel.values import clean


class Echo:
    """Prints pieces of a text as they come, unless results are JSON. If nobody reads stdout any longer, it goes on.

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
        """Show what is waited for until the first text comes."""
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
            self._out.piece(clean(text)[0])
            sys.stdout.flush()
        except BrokenPipeError:
            self._wanted, self.closed = False, True

    def end(self) -> None:
        """End the last line, if there is one."""
        self._until_text.close()
        if self._last and not self._last.endswith("\n"):
            self.write("\n")
