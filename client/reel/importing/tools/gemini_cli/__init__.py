"""Gemini CLI: its sessions, in their old and new files.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.gemini_cli.tool`.
"""
