"""The files of other tools as they were when they were imported, so that a better reader can read them again.

It imports the steps above, and how the files of tools are opened. The store knows nothing of tools or of the daemon.
Begin with :mod:`reel.importing.originals.store`.
"""
