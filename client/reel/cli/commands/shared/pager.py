"""The pager, for output that is longer than the screen.

Most commands import this, so it imports what only a person at a terminal needs when that is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.context import Context
from reel.cli.screen.output import screen_height

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import IO, Any

_FALLBACK = "less"
# Options of less if $LESS is not set: exit at once on short texts, pass colours through, leave the text on the screen.
_OPTIONS = "FRX"
# The option with which it begins at the end.
_AT_END = "+G"


@contextmanager
def paged(ctx: Context, *, at_end: bool = False) -> Iterator[None]:
    """Page the output of the block, if it is for people and on a terminal.

    Args:
        ctx: the command's context.
        at_end: whether the pager begins at the end, if it supports that.
    """
    if not ctx.out.terminal or ctx.out.as_json or ctx.args.no_pager:
        with ctx.out.printing():
            yield
        return
    command = pager_command(ctx.settings.pager, at_end=at_end)
    buffer = PagerBuffer(sys.stdout, screen_height(sys.stdout), command)
    stream = ctx.out.redirect(buffer)
    try:
        with suppress(Closed):
            yield
    finally:
        ctx.out.redirect(stream)
        buffer.end()


def begins_at_end(ctx: Context) -> bool:
    """Return whether the output goes to a pager that begins at the end."""
    if not ctx.out.terminal or ctx.out.as_json or ctx.args.no_pager:
        return False
    from shutil import which  # noqa: PLC0415 - see above

    command = pager_command(ctx.settings.pager, at_end=True)
    return _AT_END in command and which(command[0]) is not None


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
        self._pager: Popen[str] | None = None
        self._interrupted: Any = None

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
        """Print the rest, and wait until the user closes the pager."""
        if self._pager is None:
            self._stream.writelines(self._kept)
            return
        import signal  # noqa: PLC0415 - see above

        try:
            self._pager.communicate()
        finally:
            signal.signal(signal.SIGINT, self._interrupted)

    def _begin(self) -> None:
        import signal  # noqa: PLC0415 - see above
        import subprocess  # noqa: PLC0415 - see above

        self._interrupted = signal.getsignal(signal.SIGINT)
        environment = {"LESS": _OPTIONS, **os.environ}
        try:
            self._pager = subprocess.Popen(  # noqa: S603 - the user's own pager
                self._command, stdin=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", env=environment
            )
        except OSError:
            self._command = []  # without a pager, everything is printed
            return
        # From here on Ctrl-C belongs to the pager.
        signal.signal(signal.SIGINT, lambda *_: None)
        kept, self._kept = self._kept, []
        self.write("".join(kept))


def pager_command(setting: str | None, *, at_end: bool) -> list[str]:
    """Return the command line of the pager; empty for none.

    Args:
        setting: what ``reel.toml`` says.
        at_end: whether it begins at the end, if it is one that can be told so.
    """
    import shlex  # noqa: PLC0415 - see above

    try:
        command = shlex.split(os.environ.get("PAGER", _FALLBACK) if setting is None else setting)
    except ValueError:
        return []  # an unbalanced quote: print without a pager
    if at_end and command and os.path.basename(command[0]) == _FALLBACK:
        command.append(_AT_END)
    return command
