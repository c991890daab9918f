"""What is said: messages and their blocks, the records that they are stored as, and the items of providers.

It imports :mod:`reel.base` and does no I/O; the daemon makes its messages here as well. Begin with
:mod:`reel.said.messages`, which has their types.
"""
