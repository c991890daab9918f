"""GitHub Copilot CLI.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.copilot_cli.tool`.
"""
