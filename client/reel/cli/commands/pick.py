"""The command ``pick``, which is also ``reel`` alone at a terminal: choose a conversation, and go on with it."""

from __future__ import annotations

import sys

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.continue_ import go_on
from reel.cli.commands.export import path_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.exits import INTERRUPTED, OK, REFUSED
from reel.cli.line.run import run
from reel.cli.screen.output import is_interactive

if TYPE_CHECKING:
    from reel.cli.line.context import Context


def pick(ctx: Context) -> int:
    """Choose a conversation; go on with it, show it, show its branches, or write it into a file."""
    if ctx.out.as_json or not is_interactive(sys.stdin, sys.stdout):
        raise UsageError("reel pick needs a terminal; in a script, use: reel list")
    if not ctx.client.agents(alive=True, limit=1).agents:
        ctx.out.warn(f"no conversations yet; begin one with: {ctx.command('new', 'NAME')}")
        ctx.out.warn(f"or bring in those of other tools with: {ctx.command('import')}")
        return REFUSED
    from reel.cli.line.picking import choose  # noqa: PLC0415 - termios and the rest are for a person only
    from reel.cli.screen.keys import Key  # noqa: PLC0415 - as above

    keys = {Key.CTRL_O: "shows", Key.CTRL_T: "branches", Key.CTRL_X: "exports"}
    try:
        choice = choose(ctx, "goes on", more_keys=keys)
    except KeyboardInterrupt:
        return INTERRUPTED
    if choice is None or choice.row is None:
        return REFUSED
    name = choice.row.name
    if choice.key is Key.ENTER:
        return go_on(ctx, choice.row)
    file = f"{path_of(name, '.md').replace('/', '-')}.md"
    words = {
        Key.CTRL_O: ["show", "-a", name],
        Key.CTRL_T: ["tree", "-a", name],
        Key.CTRL_X: ["export", "-a", name, "-o", file],
    }[choice.key]
    ctx.out.hint(ctx.command(*words))
    return run([*(["--socket", ctx.args.socket] if ctx.args.socket else []), *words]) or OK
