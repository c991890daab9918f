"""The completion scripts for shells, and the hidden command that they ask."""

from reel.cli.shells.scripts import SHELLS as SHELLS
