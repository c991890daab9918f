"""The command ``search`` without a query: it searches as one types.

Theory of operation. One thread waits for keys and for the daemon's answer at the same time. A key that is pressed
before the answer is there ends the connection, and so the search: there is never more than one, and never one for what
is not typed any more. The next search opens another connection, which takes a millisecond.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel import requests
from reel.cli.exits import INTERRUPTED, REFUSED
from reel.cli.hit_lines import opening
from reel.cli.keys import Key, Keys
from reel.cli.output import screen_height
from reel.cli.typed_screen import Screen, draw
from reel.errors import ReelError
from reel.light_typing import TYPE_CHECKING
from reel.sync.client import Client

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.context import Context
    from reel.replies import Hit

_HITS = 50
# Seconds in which the rest of a key's sequence comes after an escape.
_ESCAPE_DELAY = 0.05
_CHUNK = 1 << 16
_ENTER_SCREEN, _LEAVE_SCREEN = "\x1b[?1049h\x1b[?2004h", "\x1b[?2004l\x1b[?1049l\x1b[?25h"


class _Pressed(Exception):
    """A key was pressed before the answer was there."""


class _Ended(SystemExit):
    """A signal ends the process; its exit status is that of a shell for it."""


class _CancellableClient(Client):
    """A client whose calls end as soon as there is something to read from other files."""

    def __init__(self, path: str, files: list[int]) -> None:
        super().__init__(path, patience=0, name="reel")
        self._files = files

    def _receive(self) -> bytes:
        assert self._socket is not None  # noqa: S101 - the request has just been sent
        ready, _, _ = select.select([self._socket.fileno(), *self._files], [], [])
        if not {*ready}.isdisjoint(self._files):
            raise _Pressed
        return super()._receive()


def search_as_typed(ctx: Context) -> int:
    """Search for what is typed, and show the conversation of the hit that is chosen."""
    ctx.client.ping()  # starts the daemon, or fails with the reason, before the screen changes
    try:
        with _opened() as terminal, _CancellableClient(ctx.socket, terminal.files) as client:
            hit = _Search(ctx, client, terminal).run()
    except KeyboardInterrupt:
        return INTERRUPTED
    if hit is None:
        return REFUSED
    from reel.cli.run import run  # noqa: PLC0415 - it imports the commands

    ctx.out.hint(ctx.command(*opening(hit)))
    return run([*(["--socket", ctx.args.socket] if ctx.args.socket else []), *opening(hit)])


class _Search:
    """One run of the command.

    Args:
        ctx: the command's context.
        client: asks the daemon.
        terminal: where to read keys, and to draw.
    """

    def __init__(self, ctx: Context, client: Client, terminal: _Terminal) -> None:
        self._ctx = ctx
        self._client = client
        self._terminal = terminal
        self._screen = Screen()
        self._answered = ""

    def run(self) -> Hit | None:
        """Return the hit that is chosen; ``None`` if the user leaves."""
        while True:
            self._draw()
            if self._screen.query != self._answered and not self._terminal.is_ready():
                with suppress(_Pressed):
                    self._look()
                continue
            for key in self._terminal.read():
                if key is Key.ESCAPE or (key is Key.END and not self._screen.query):
                    return None
                if key is Key.ENTER and self._screen.chosen is not None:
                    return self._screen.chosen
                self._screen.press(key)

    def _draw(self) -> None:
        out = self._ctx.out
        draw(self._screen, sys.stdout, out.current_width(), screen_height(sys.stdout), colour=out.colour)

    def _look(self) -> None:
        """Search for what is typed.

        Raises:
            _Pressed: a key was pressed meanwhile.
        """
        query, args = self._screen.query, self._ctx.args
        limit = args.limit or _HITS
        found: list[Hit] = []
        behind, problem = 0, ""
        try:
            pages = self._client.pages(
                requests.search(query, order="best" if args.best else None, limit=min(limit, _HITS))
            )
            for page in pages if query.strip() else ():
                found += page.hits
                behind = page.behind
                if len(found) >= min(limit, _HITS):
                    break
        except ReelError as error:
            problem = error.message
        self._answered = query
        self._screen.answer(query, found, behind, problem)


class _Terminal:
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

    def read(self) -> list[Key | str]:
        """Wait for keys and return them; none if only a signal came, such as for another size of the window."""
        ready, _, _ = select.select(self.files, [], [], _ESCAPE_DELAY if self._keys.waits else None)
        if not ready:
            return self._keys.settle()
        stdin, signalled = self.files
        if signalled in ready:
            os.read(signalled, _CHUNK)
        if stdin not in ready:
            return []
        data = os.read(stdin, _CHUNK)
        return self._keys.feed(data) if data else [Key.ESCAPE]  # the terminal is gone


@contextmanager
def _opened() -> Iterator[_Terminal]:
    """Yield the terminal; after the block it is as it was, whatever happened."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    with _signals() as signalled:
        try:
            termios.tcsetattr(stdin, termios.TCSADRAIN, _key_by_key(before))
            sys.stdout.write(_ENTER_SCREEN)
            yield _Terminal(stdin, signalled)
        finally:
            with suppress(OSError, termios.error):  # the terminal is gone
                sys.stdout.write(_LEAVE_SCREEN)
                sys.stdout.flush()
                termios.tcsetattr(stdin, termios.TCSADRAIN, before)


@contextmanager
def _signals() -> Iterator[int]:
    """Yield what can be read after a signal. One that ends the process unwinds it, so that the terminal is restored."""

    def end(number: int, _frame: object) -> None:
        raise _Ended(128 + number)

    handlers = {signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGWINCH: lambda *_: None}
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


def _key_by_key(attributes: list[Any]) -> list[Any]:
    """Return the attributes of a terminal that echoes nothing and sends each key at once; Ctrl-C stays a signal."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, controls = attributes
    quiet = [*controls]
    # A shell would get the other screen if the command was suspended.
    quiet[termios.VSUSP] = quiet[termios.VQUIT] = b"\0"
    quiet[termios.VMIN], quiet[termios.VTIME] = 1, 0
    iflag &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    lflag &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, quiet]
