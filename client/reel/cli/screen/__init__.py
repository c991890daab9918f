"""What a person sees: lines, tables, conversations, and the commands that take the whole terminal.

It imports :mod:`reel.reading`, the types of replies and the terminal, and nothing of the command line; what says "No
I/O" returns lines. Begin with :mod:`reel.cli.screen.output`.
"""
