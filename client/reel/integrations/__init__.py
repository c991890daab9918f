"""Session stores for other frameworks, which keep the history in ``reeld``: one module for each framework.

A framework's module imports its framework, the async and the blocking client, and what is shared here; nothing of
another framework. Begin with :mod:`reel.integrations.worker`, which all of them use.
"""
