"""Finding, trusting and starting the daemon: its paths, its socket, its program, its units, and what keeps it stopped.

It imports :mod:`reel.base` and :mod:`reel.wire`; both clients connect with it, and the daemon has its paths from it.
Begin with :mod:`reel.daemon.address`.
"""
