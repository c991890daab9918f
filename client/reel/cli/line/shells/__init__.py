"""The completion scripts for shells, and the hidden command that they ask.

It imports the table of commands, and a client to look up names. Begin with :mod:`reel.cli.line.shells.completing`.
"""

from reel.cli.line.shells.scripts import SHELLS as SHELLS
