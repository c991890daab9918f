"""Reading the histories of other tools, and adding them to reel.

A reader for each tool turns files into steps (:mod:`reel.importing.steps`): what was said, and where the conversation
went back. One writer (:mod:`reel.importing.writer`) turns steps into commands. The daemon knows nothing of foreign
files. Nothing of a source is written, executed, or followed out of its root.
"""
