"""The commands, each in a file of its name: a function of a :class:`~reel.cli.line.context.Context`.

A command imports the line, the screen, a client and whatever it is about; what several of them need is in ``shared``.
Begin with :mod:`reel.cli.commands.add`.
"""
