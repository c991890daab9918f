"""What the readers of the tools share: files, archives and databases that others may write, and the blocks in them.

It imports the steps and values above, what is said, and the readers of the providers' items; nothing of a tool, and no
client. Begin with :mod:`reel.importing.sources.files`.
"""
