"""The completion scripts for shells, made from the table of commands.

The scripts get the names of agents from ``reel list``, whose first column is the name. If no daemon answers within a
second, they offer none and print nothing.
"""

from reel.cli.shells import bash, fish, zsh

SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
