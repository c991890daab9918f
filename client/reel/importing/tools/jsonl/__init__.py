"""JSON lines of any program.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.jsonl.tool`.
"""
