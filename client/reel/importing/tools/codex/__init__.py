"""Codex: its rollouts.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.codex.tool`.
"""
