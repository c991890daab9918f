"""The chat of VS Code.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.vscode_chat.tool`.
"""
