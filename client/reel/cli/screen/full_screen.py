"""A command that takes the whole screen: the terminal as it must be for that, and as it was afterwards.

Theory of operation. One thread waits for keys, for signals and for the daemon's answer at the same time. A key that is
pressed before the answer is there ends the connection, and so what was asked: a key never waits for the daemon. The
next call opens another connection, which takes a millisecond.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.keys import Key, Keys
from reel.cli.screen.output import cells_of, render
from reel.sync.client import Client

if TYPE_CHECKING:
    from typing import Any, TextIO

    from reel.cli.screen.output import Line

# Seconds in which the rest of a key's sequence comes after an escape.
_ESCAPE_DELAY = 0.05
_CHUNK = 1 << 16
# Of a terminal that does not know its size.
_SIZE = (80, 24)
# The other screen, and pasted text in brackets.
_BRACKETS, _NO_BRACKETS = b"\x1b[?2004h", b"\x1b[?2004l"
_ENTER, _LEAVE = b"\x1b[?1049h" + _BRACKETS, _NO_BRACKETS + b"\x1b[?1049l\x1b[?25h"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_HOME, _ERASE_LINE, _ERASE_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
# A terminal that knows these shows nothing of a picture before its end; any other one ignores them.
_BEGIN_PICTURE, _END_PICTURE = "\x1b[?2026h", "\x1b[?2026l"


class KeyPressed(Exception):
    """A key was pressed before the answer was there."""


class _Ended(SystemExit):
    """A signal ends the process; its exit status is that of a shell for it."""


def cancellable_client(path: str, files: list[int], timeout: float | None = None) -> Client:
    """Return a client whose calls end as soon as there is something to read from other files; they raise KeyPressed.

    Args:
        path: the socket.
        files: the other files.
        timeout: how long one call may take, in seconds. Default: no limit.
    """

    def wait(connection: int, left: float | None) -> None:
        ready, _, _ = select.select([connection, *files], [], [], left)
        if not ready:
            raise TimeoutError
        if not {*ready}.isdisjoint(files):
            raise KeyPressed

    return Client(path, patience=0, timeout=timeout, name="reel", wait=wait)


class Terminal:
    """The terminal, from which each key is read at once.

    Args:
        stdin: where the keys come from.
        signalled: what can be read after a signal.
    """

    def __init__(self, stdin: int, signalled: int) -> None:
        self.files = [stdin, signalled]
        self._keys = Keys()

    def is_ready(self) -> bool:
        """Return whether there is a key to read, or a signal to handle."""
        return bool(select.select(self.files, [], [], 0)[0])

    def read(self, until: float | None = None) -> list[Key | str]:
        """Wait for keys and return them; none if only a signal came, such as for another size of the window.

        Args:
            until: when to return without keys, on the monotonic clock. Default: never.
        """
        left = None if until is None else max(until - time.monotonic(), 0)
        ready, _, _ = select.select(self.files, [], [], _ESCAPE_DELAY if self._keys.waits else left)
        if not ready:
            return self._keys.settle()
        stdin, signalled = self.files
        if signalled in ready:
            os.read(signalled, _CHUNK)
        if stdin not in ready:
            return []
        data = os.read(stdin, _CHUNK)
        return self._keys.feed(data) if data else [Key.ESCAPE]  # the terminal is gone


class _Screen:
    """The other screen of a terminal, with keys that are sent at once.

    Args:
        stdin: the terminal, to read from.
        stdout: the terminal, to write to. Not through Python's buffers: a signal may have interrupted a write to them.
    """

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._before = termios.tcgetattr(stdin)

    def enter(self) -> None:
        """Change to the screen."""
        termios.tcsetattr(self._stdin, termios.TCSADRAIN, _key_by_key(self._before))
        os.write(self._stdout, _ENTER)

    def leave(self) -> None:
        """Change back; the terminal is as it was."""
        with suppress(OSError, termios.error):  # the terminal is gone
            os.write(self._stdout, _LEAVE)
            termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._before)

    def suspend(self) -> None:
        """Stop the process, and come back when it goes on: a shell must not get this screen."""
        self.leave()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self.enter()


@contextmanager
def opened() -> Iterator[Terminal]:
    """Yield the terminal; after the block it is as it was, whatever happened."""
    sys.stdout.flush()
    screen = _Screen(sys.stdin.fileno(), sys.stdout.fileno())
    with _signals(screen) as signalled:
        try:
            screen.enter()
            yield Terminal(sys.stdin.fileno(), signalled)
        finally:
            with suppress(OSError):
                sys.stdout.flush()
            screen.leave()


@contextmanager
def _signals(screen: _Screen) -> Iterator[int]:
    """Yield what can be read after a signal. One that ends the process unwinds it, so that the terminal is restored."""

    def end(number: int, _frame: object) -> None:
        raise _Ended(128 + number)

    handlers = {
        signal.SIGTERM: end,
        signal.SIGHUP: end,
        signal.SIGWINCH: lambda *_: None,
        signal.SIGTSTP: lambda *_: screen.suspend(),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signalled, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    try:
        yield signalled
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(signalled)
        os.close(wakeup)


@contextmanager
def unechoed(stdin: int, stdout: int) -> Iterator[None]:
    """Let each key of a terminal be sent at once, and not be shown; a text that is pasted stays in brackets."""
    before = termios.tcgetattr(stdin)
    os.write(stdout, _BRACKETS)
    termios.tcsetattr(stdin, termios.TCSADRAIN, _key_by_key(before))
    try:
        yield
    finally:
        with suppress(OSError, termios.error):  # the terminal is gone
            os.write(stdout, _NO_BRACKETS)
            termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def _key_by_key(attributes: list[Any]) -> list[Any]:
    """Return the attributes of a terminal that echoes nothing and sends each key at once; Ctrl-C stays a signal."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, controls = attributes
    quiet = [*controls]
    quiet[termios.VQUIT] = b"\0"
    quiet[termios.VMIN], quiet[termios.VTIME] = 1, 0
    iflag &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    lflag &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, quiet]


def size_of(stream: TextIO) -> os.terminal_size:
    """Return how many columns and lines the screen has now, whatever ``$COLUMNS`` was when the command began."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except OSError:
        columns, lines = 0, 0
    return os.terminal_size((columns or _SIZE[0], lines or _SIZE[1]))


def paint(lines: Sequence[Line], stream: TextIO, width: int, *, colour: bool, column: int | None = None) -> None:
    """Draw lines over the old ones in one write, so that nothing flickers.

    Args:
        lines: as many as fit on the screen, none wider than it.
        stream: the terminal.
        width: how many columns the screen has.
        colour: whether to use colours.
        column: where the cursor is on the first line, from 1. Default: there is no cursor.
    """
    # After the last column, erasing to the end of the line would erase the character in it.
    painted = [render(line, colour=colour) + (_ERASE_LINE if cells_of(line) < width else "") for line in lines]
    cursor = "" if column is None else f"\x1b[1;{column}H{_SHOW_CURSOR}"
    picture = f"{_HIDE_CURSOR}{_HOME}" + "\r\n".join(painted) + _ERASE_BELOW + cursor
    stream.write(f"{_BEGIN_PICTURE}{picture}{_END_PICTURE}")
    stream.flush()
