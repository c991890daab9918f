"""The command ``top``: the daemon's current activity, redrawn every second."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.exits import INTERRUPTED, OK
from reel.cli.screen.top.figures import figures
from reel.cli.screen.top.screen import TopScreen, frame
from reel.reading.wording import duration

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.line.context import Context
    from reel.cli.screen.full_screen import Terminal
    from reel.sync.client import Client

# Seconds between two frames.
_EVERY = 1.0
# Seconds over which latencies are computed: in one second there may be few requests.
_LATENCY_SECONDS = 10.0
# Seconds after which a daemon that does not answer is said to be away.
_PATIENCE = 5.0
# The width of a frame that is not printed on a terminal.
_WIDTH = 80


def top(ctx: Context) -> int:
    """Show agents, methods and connections by activity, until ``q``; without a terminal, once."""
    every = ctx.args.every or _EVERY
    if ctx.out.as_json or ctx.args.once or not (ctx.out.terminal and sys.stdin.isatty()):
        _print_once(ctx, every)
        return OK
    from reel.cli.screen.full_screen import cancellable_client, opened  # noqa: PLC0415 - a pipe has no screen

    ctx.client.ping()  # fails with the reason before the screen changes
    try:
        with opened() as terminal, cancellable_client(ctx.socket, terminal.files, _PATIENCE) as client:
            _Top(ctx, client, terminal, every).run()
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


def _print_once(ctx: Context, every: float) -> None:
    """Print the figures of some time: rates need two moments."""
    before = ctx.client.stats(details=True)
    time.sleep(every)  # the time that the rates are measured over
    found = figures(ctx.client.stats(details=True), before)
    if ctx.out.as_json:
        ctx.out.document(found)
    else:
        ctx.out.lines(frame(found, ctx.out.width or _WIDTH))


class _Top:
    """One run of the command on a terminal.

    Args:
        ctx: the command's context.
        client: asks the daemon.
        terminal: where to read keys.
        every: seconds between two looks.
    """

    def __init__(self, ctx: Context, client: Client, terminal: Terminal, every: float) -> None:
        self._ctx = ctx
        self._client = client
        self._terminal = terminal
        self._every = every
        self._screen = TopScreen()
        # The daemon's ``stats`` with their times, the newest last; the last but one is for the rates.
        self._looks: deque[tuple[float, dict[str, Any]]] = deque()
        self._answered = self._due = time.monotonic()

    def run(self) -> None:
        """Show the daemon's activity until a key ends it."""
        while True:
            if not self._screen.paused and time.monotonic() >= self._due:
                self._look()
            self._draw()
            keys = self._terminal.read(None if self._screen.paused else self._due)
            if any([self._screen.press(key) for key in keys]):  # noqa: C419 - each counts
                return

    def _look(self) -> None:
        """Ask the daemon; a key that is pressed meanwhile comes first, and the daemon is asked again."""
        from reel.cli.screen.full_screen import KeyPressed  # noqa: PLC0415 - as above

        with suppress(KeyPressed):
            try:
                self._take(self._client.stats(details=True))
            except ReelError as error:
                away = duration(time.monotonic() - self._answered)
                self._screen.problem = f"no answer for {away}: {error.message.partition(';')[0]}"
            self._due = max(self._due + self._every, time.monotonic())

    def _take(self, found: dict[str, Any]) -> None:
        now = self._answered = time.monotonic()
        self._looks.append((now, found))
        while len(self._looks) > 2 and self._looks[1][0] <= now - _LATENCY_SECONDS:  # noqa: PLR2004 - now and before
            self._looks.popleft()
        before = self._looks[-2][1] if len(self._looks) > 1 else None
        self._screen.figures = figures(found, before, self._looks[0][1])
        self._screen.problem = ""

    def _draw(self) -> None:
        from reel.cli.screen.full_screen import paint, size_of  # noqa: PLC0415 - as above

        width, height = size_of(sys.stdout)
        paint(self._screen.lines(width, height), sys.stdout, width, colour=self._ctx.out.colour)
