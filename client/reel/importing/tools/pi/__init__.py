"""pi, and the agents that were made from it and keep its form: OpenClaw and Oh My Pi.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.pi.tool`.
"""
