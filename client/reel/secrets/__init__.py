"""Keys, tokens and passwords in texts: their shapes, where they are, and the marks that may stand for them.

Pure functions: nothing here stores, sends or remembers a secret. It imports :mod:`reel.base` alone; the importers, the
command line and servers that show texts to models stand on it. Begin with
:mod:`reel.secrets.finding`.
"""
