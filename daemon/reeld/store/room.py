"""The room on a disk: what needs much of it is refused before it begins."""

import os

from reeld.store.unavailable import Unavailable

# What operations need besides what they write: a few megabytes of the WAL, and what the file grows by until freed pages
# are used again.
MARGIN = 8 << 20


class NoRoomError(Unavailable):
    """There is too little room on a disk."""


def free_room(path: str) -> int:
    """Return the bytes that the owner of this process may still write on the disk of a directory or a file.

    Raises:
        OSError: there is no such file.
    """
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


def size_of(path: str) -> int | None:
    """Return the size of a file in bytes; ``None`` if it is missing or unreadable."""
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def require_room(path: str, needed: int, refusal: str) -> None:
    """Refuse what needs more room than there is.

    Args:
        path: a directory or a file on the disk.
        needed: the bytes that it needs.
        refusal: what is refused, as the beginning of a sentence.

    Raises:
        OSError: there is no such file.
        NoRoomError: there is too little room; it says how much.
    """
    free = free_room(path)
    if free < needed:
        raise NoRoomError(
            f"{refusal}: it needs {needed} bytes of room on the disk of {path}, and {free} are free; make room there"
        )
