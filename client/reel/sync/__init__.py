"""The blocking client; :mod:`reel.aio` has the same modules for async programs.

It imports what is below both clients, the standard library and msgpack; nothing of the async client. Begin with
:mod:`reel.sync.client`.
"""
