"""The completion scripts for shells, made from the table of commands.

The scripts get the names of agents from ``reel list --format names``, and those of providers and aliases from
``reel completion --names``. If there is no answer within five seconds, they offer none and print nothing.
"""

from reel.cli.shells import bash, fish, zsh

SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
