"""The screen of ``reel top``, computed from samples of the daemon's ``stats``. No I/O.

It imports what the other screens import, and :mod:`reel.stats`. Begin with :mod:`reel.cli.screen.top.figures`.
"""
