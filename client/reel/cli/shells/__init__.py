"""The command ``completion``: a script for a shell, made from the table of commands.

The scripts get the names of agents from ``reel list``, whose first column is the name. If no daemon answers within a
second, they offer none and print nothing.
"""

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.shells import bash, fish, zsh

_SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def completion(ctx: Context) -> None:
    """Print the completion script for a shell."""
    script = _SHELLS.get(ctx.words[0])
    if script is None:
        raise UsageError(f"{ctx.words[0]!r} is not a shell that reel knows; expected one of {', '.join(_SHELLS)}")
    ctx.out.lines([line] for line in script().splitlines())
