"""Where tests put their files: in memory, if there is room.

A store that is opened for a test syncs its file dozens of times. On a disk that is busy with other work the fast tests
took three times as long. What is tested of the disk itself has means of its own, such as a mounted file system or a
library between SQLite and the disk.
"""

import os

_MEMORY = "/dev/shm"
# Docker's has 64 MiB.
_NEEDED = 1 << 30


def files() -> str:
    """Return a directory for temporary files, with a path that is short enough for a socket in it."""
    try:
        memory = os.statvfs(_MEMORY)
    except OSError:
        return "/tmp"
    has_room = memory.f_bavail * memory.f_frsize >= _NEEDED
    # Tests start scripts that they have written.
    may_execute = not memory.f_flag & os.ST_NOEXEC
    return _MEMORY if has_room and may_execute and os.access(_MEMORY, os.W_OK) else "/tmp"


FILES = files()
