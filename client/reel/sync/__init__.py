"""The blocking client; :mod:`reel.aio` has the same modules for async programs."""
