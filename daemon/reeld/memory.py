"""Memory that the daemon has freed, back to the system.

The C library keeps what was freed for later, and gives back only what lies at the end of its heap: after 300 clients
that did not read, 4 MB each, the daemon kept 595 MB for good, and more after each such crowd.
"""

import ctypes

# glibc only; other C libraries either have nothing to give back or do it by themselves.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back() -> None:
    """Return freed memory to the system: 50 us for each megabyte that is returned, next to nothing if there is none."""
    if _trim is not None:
        _trim(0)
