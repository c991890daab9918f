"""opencode: its files and its databases.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.opencode.tool`.
"""
