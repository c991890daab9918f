"""Conversations in a browser, live and read-only: a server on this machine, for one person.

It imports the async client, :mod:`reel.reading` and :mod:`reel.exporting`, and nothing of the command that starts it.
Begin with :mod:`reel.viewing.site`.
"""
