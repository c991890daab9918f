"""Which edit of a conversation wrote a line of a file as it stands.

Pure functions over texts and times: the caller reads the file, git and the daemon. It imports nothing else of reel.
Begin with :mod:`reel.blame.versions`.
"""
