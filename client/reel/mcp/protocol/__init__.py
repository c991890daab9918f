"""The small part of the Model Context Protocol that a server on a pipe needs. Begin with :mod:`reel.mcp.protocol.peer`.

The official package would do it as well. But ``import mcp.server`` (2.3.0) takes 0.57 to 0.80 s of processor time and
64 MB here, and ``reel.aio``, which this server needs anyway, 0.06 s and 15 MB. Each window of each tool starts a server
of its own, and some start one for each sub-agent: five of them would take 400 MB instead of 100. What it would bring
besides is HTTP, OAuth and a framework. Its client is what drives this server in the tests.
"""
