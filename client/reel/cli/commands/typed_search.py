"""The command ``search`` without a query: it searches as one types.

A key that is pressed before the answer is there ends the search: there is never more than one, and never one for what
is not typed any more.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.searches import as_people_read, pages, search_for
from reel.cli.line.arguments import UsageError
from reel.cli.line.exits import INTERRUPTED, REFUSED
from reel.cli.screen.full_screen import KeyPressed, cancellable_client, opened, paint, size_of
from reel.cli.screen.hit_lines import opening
from reel.cli.screen.keys import Key
from reel.cli.screen.typed_screen import Screen
from reel.reading.hits import PARTIAL
from reel.reading.unindexed import unindexed

if TYPE_CHECKING:
    from reel.cli.line.context import Context
    from reel.cli.screen.full_screen import Terminal
    from reel.replies import Hit
    from reel.sync.client import Client

_HITS = 50


def search_as_typed(ctx: Context) -> int:
    """Search interactively, and show the conversation of the chosen hit."""
    ctx.client.ping()  # starts the daemon, or fails with the reason, before the screen changes
    try:
        with opened() as terminal, cancellable_client(ctx.socket, terminal.files) as client:
            hit = _Search(ctx, client, terminal).run()
    except KeyboardInterrupt:
        return INTERRUPTED
    if hit is None:
        return REFUSED
    from reel.cli.line.run import run  # noqa: PLC0415 - it imports the commands

    ctx.out.hint(ctx.command(*opening(hit)))
    return run([*(["--socket", ctx.args.socket] if ctx.args.socket else []), *opening(hit)])


class _Search:
    """One run of the command.

    Args:
        ctx: the command's context.
        client: asks the daemon.
        terminal: where to read keys, and to draw.
    """

    def __init__(self, ctx: Context, client: Client, terminal: Terminal) -> None:
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
                with suppress(KeyPressed):
                    self._look()
                continue
            for key in self._terminal.read():
                if key is Key.ESCAPE or (key is Key.END and not self._screen.query):
                    return None
                if key is Key.ENTER and self._screen.chosen is not None:
                    return self._screen.chosen
                self._screen.press(key)

    def _draw(self) -> None:
        screen, (width, height) = self._screen, size_of(sys.stdout)
        colour = self._ctx.out.colour
        paint(screen.lines(width, height), sys.stdout, width, colour=colour, column=screen.column(width))

    def _look(self) -> None:
        """Search for what is typed.

        Raises:
            KeyPressed: a key was pressed meanwhile.
        """
        query, args = self._screen.query, self._ctx.args
        limit = args.limit or _HITS
        found: list[Hit] = []
        behind, is_partial, late, problem = 0, False, "", ""
        try:
            call = search_for(self._ctx, query, min(limit, _HITS), self._client)
            for page in pages(self._client, call) if query.strip() else ():
                found += as_people_read(self._client, page.hits)
                behind, is_partial = page.behind, bool(page.partial)
                if len(found) >= min(limit, _HITS):
                    break
            late = unindexed(behind, self._client.stats()) if behind else ""
        except (ReelError, UsageError) as error:
            problem = error.message
        self._answered = query
        self._screen.answer(query, found, problem or (PARTIAL if is_partial else ""), late)
