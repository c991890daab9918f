"""Sessions that began with ``/clear``: a window of Claude Code goes on in them, and its servers are not told.

The environment of a server names the session that the window had when the server was started, and nothing in the new
transcript names the session before it: only its beginning tells what it is (2.1.332).
"""

import os
from contextlib import suppress

from reel.importing.sources.files import open_regular

# The text of the second record of such a transcript.
CLEARED = "<command-name>/clear</command-name>"
# How many bytes from the beginning it is looked for in.
_BEGINNING = 1 << 14


def begins_cleared(path: str) -> bool:
    """Return whether a transcript begins with ``/clear``; False if it cannot be read."""
    try:
        with open_regular(path) as file:
            return CLEARED.encode() in file.read(_BEGINNING)
    except OSError:
        return False


def beginnings_in(directory: str) -> tuple[int, ...]:
    """Return the sizes of the files in a directory that are so short that they may still begin with ``/clear``.

    They change when such a file grows; the time of the directory does not.
    """
    sizes = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):  # it was deleted meanwhile
                sizes.append(entry.stat().st_size)
    return tuple(size for size in sorted(sizes) if size < _BEGINNING)
