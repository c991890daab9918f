"""Sessions that began with ``/clear``: the window of Claude Code went on in them, and its servers are not told.

A server keeps the session in its environment that the window had when it was started, and nothing in the new transcript
names the one before: only its beginning tells what it is (2.1.332).
"""

import os
from contextlib import suppress

from reel.importing.sources.files import open_regular

# What the second record of such a transcript says.
CLEARED = "<command-name>/clear</command-name>"
# The bytes in which that is.
_BEGINNING = 1 << 14


def begins_cleared(path: str) -> bool:
    """Return whether a transcript begins with ``/clear``; not if it cannot be read."""
    try:
        with open_regular(path) as file:
            return CLEARED.encode() in file.read(_BEGINNING)
    except OSError:
        return False


def beginnings_in(directory: str) -> tuple[int, ...]:
    """Return the sizes of the files in a directory that are so short that they may yet begin so.

    They change when such a file grows; the time of the directory does not.
    """
    sizes = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):  # it was deleted meanwhile
                sizes.append(entry.stat().st_size)
    return tuple(size for size in sorted(sizes) if size < _BEGINNING)
