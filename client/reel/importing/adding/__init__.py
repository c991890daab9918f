"""Steps become commands to the daemon, whichever tool they are from.

It imports the steps above and the blocking client, and nothing of a tool or of its files. Begin with
:mod:`reel.importing.adding.conversation`.
"""
