"""ChatGPT: the export of an account.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.chatgpt.tool`.
"""
