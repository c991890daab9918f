"""Claude Code: its sessions, and the transcripts that its Agent SDK stores and resumes.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.claude_code.tool`.
"""
