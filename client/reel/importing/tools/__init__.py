"""The readers of the tools: a folder for each, or a module if that is all.

A reader imports the steps and values above and the sources beside, and nothing of another tool. Begin with
:mod:`reel.importing.tools.aider`, which is short.
"""
