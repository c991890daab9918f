"""What a tool call did to files and in a shell: which file it read, which text it wrote, which command it ran.

Pure functions over the blocks of messages, for the tools of the known coding agents and for those that a user
describes. It imports only :mod:`reel.base`; the daemon's table of edits is made with it. Begin with
:mod:`reel.touches.reading`.
"""
