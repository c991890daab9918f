"""The logs that ``reel export`` wrote: each becomes the original agent again.

It imports the sources, and what adds commands: a log is replayed, and not turned into steps. Begin with
:mod:`reel.importing.tools.reel_log.tool`.
"""
