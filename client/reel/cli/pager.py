"""The pager, for output that is longer than the screen."""

import os
import shlex
import signal
import subprocess
from typing import IO

_FALLBACK = "less"
# Options of less if $LESS is not set: exit at once on short texts, pass colours through, leave the text on the screen.
_OPTIONS = "FRX"


class Closed(Exception):
    """The user has closed the pager."""


class PagerBuffer:
    """Holds lines back until they fill the screen, and from then on writes them to a pager.

    Args:
        stream: the terminal, for output that fits on it.
        height: how many lines fit.
        command: the pager's command line; empty for none.
    """

    def __init__(self, stream: IO[str], height: int, command: list[str]) -> None:
        self._stream = stream
        self._height = height
        self._command = command
        self._kept: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._interrupted = signal.getsignal(signal.SIGINT)

    def write(self, text: str) -> int:
        """Write a line.

        Raises:
            Closed: the user has closed the pager.
        """
        if self._pager is not None and self._pager.stdin is not None:
            try:
                return self._pager.stdin.write(text)
            except BrokenPipeError:
                raise Closed from None
        self._kept.append(text)
        if len(self._kept) >= self._height and self._command:
            self._begin()
        return len(text)

    def end(self) -> None:
        """Print what is left, and wait until the user closes the pager."""
        if self._pager is None:
            self._stream.writelines(self._kept)
            return
        try:
            self._pager.communicate()
        finally:
            signal.signal(signal.SIGINT, self._interrupted)

    def _begin(self) -> None:
        environment = {"LESS": _OPTIONS, **os.environ}
        try:
            self._pager = subprocess.Popen(  # noqa: S603 - the user's own pager
                self._command, stdin=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", env=environment
            )
        except OSError:
            self._command = []  # without a pager, everything is printed
            return
        # From here on Ctrl-C belongs to the pager.
        self._interrupted = signal.signal(signal.SIGINT, lambda *_: None)
        kept, self._kept = self._kept, []
        self.write("".join(kept))


def pager_command(setting: str | None, *, at_end: bool) -> list[str]:
    """Return the command line of the pager; empty for none.

    Args:
        setting: what ``reel.toml`` says.
        at_end: whether it begins at the end, as far as it is known how to tell it.
    """
    try:
        command = shlex.split(os.environ.get("PAGER", _FALLBACK) if setting is None else setting)
    except ValueError:
        return []  # an unbalanced quote: print without a pager
    if at_end and command and os.path.basename(command[0]) == _FALLBACK:  # noqa: PTH119 - pathlib costs 4 ms
        command.append("+G")
    return command
