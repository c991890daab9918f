"""What every other folder stands on: errors, clean texts and values, strict JSON, ids, and advice on installing.

It imports the standard library alone, and nothing of ``reel`` but its version; only ``wakeup`` needs anyio. Begin with
:mod:`reel.base.errors`, which has every error of the protocol.
"""
