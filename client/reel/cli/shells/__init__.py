"""The command ``completion``: a script for a shell, made from the table of commands.

Agents are asked for with ``reel list``, whose first column is the name. Where no daemon answers within a second there
is nothing to choose from, and nothing is said about it.
"""

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.shells import bash, fish, zsh

_SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def completion(ctx: Context) -> None:
    """Print the script for a shell."""
    script = _SHELLS.get(ctx.words[0])
    if script is None:
        raise UsageError(f"{ctx.words[0]!r} is no shell that reel knows; expected one of {', '.join(_SHELLS)}")
    ctx.out.lines([line] for line in script().splitlines())
