"""How calls, replies and pushes travel: frames, and MessagePack-RPC, without any I/O.

It imports :mod:`reel.base`, the types of :mod:`reel.said`, and msgpack; both ends of a connection use it. Begin with
:mod:`reel.wire.session`.
"""
