"""From the words of a command line to the function that carries them out: parsing, settings, the table of commands.

It imports :mod:`reel.cli.screen` for output, and no command: the one that runs is imported by its name in the table.
What ``--help`` and ``--version`` need imports no client. Begin with :mod:`reel.cli.line.run`.
"""
