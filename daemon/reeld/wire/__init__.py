"""The wire at the daemon's end, without any I/O: every framing that a peer may speak, JSON-RPC included.

It imports the client's :mod:`reel.wire` and what is below that, and nothing of the daemon. Begin with
:mod:`reeld.wire.framing`.
"""
