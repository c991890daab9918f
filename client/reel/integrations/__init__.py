"""Session stores for other frameworks, which keep the history in ``reeld``: a folder for each framework.

A folder imports its framework, the clients, and what is shared beside it; nothing of another framework. The class that
a program uses is in the folder's name, such as ``reel.integrations.openai_agents.ReelSession``. Begin with
:mod:`reel.integrations.worker`, which all of them use.
"""
