"""What a log says, computed from its events, and the words in which a person is told.

Pure functions and values: nothing here reads a socket, a file or a terminal. It imports what is said and
the types of replies; requests, the command line, the pages of ``reel view``, importers and adapters stand on it. Begin
with :mod:`reel.reading.log_tree`.
"""
