"""What a tool call did to files and in a shell: which file it read, which text it wrote, which command it ran.

Pure functions over the blocks of messages, for the tools of the known coding agents and for those that somebody
describes. It imports :mod:`reel.base` alone; the daemon's table of edits stands on it. Begin with
:mod:`reel.touches.reading`.
"""
