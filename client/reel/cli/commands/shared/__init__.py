"""What several commands share: the pager, long work on files, waiting for a daemon, the user's own program.

It imports what a command may import, and no command. Begin with :mod:`reel.cli.commands.shared.pager`.
"""
