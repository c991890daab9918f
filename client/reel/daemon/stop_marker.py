"""The file beside the socket that keeps a daemon stopped: every automatic start checks for it first.

``reel stop`` writes it before the daemon ends. ``reel start`` removes it, and so does a ``reeld`` that somebody starts,
by hand or by systemd. It belongs to the socket, so daemons on other sockets are not affected; in the runtime directory
it is gone after a logout. If ``reel stop`` is killed after it wrote the file, the daemon keeps running, but is not
restarted automatically when it ends.
"""

import os
from contextlib import suppress

from reel.base.errors import NotRunning

STOPPED = "reeld was stopped with `reel stop`; start it with `reel start`"


def is_marked(path: str) -> bool:
    """Return whether the daemon on a socket was stopped on purpose."""
    return os.path.lexists(_marker(path))


def mark(path: str) -> bool:
    """Prevent automatic starts of a daemon on a socket; return whether the marker is new.

    Raises:
        OSError: the file cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        descriptor = os.open(_marker(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{STOPPED}\n")
    return True


def unmark(path: str) -> None:
    """Allow automatic starts on a socket again.

    Raises:
        OSError: the file is there and cannot be removed.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(_marker(path))


def require_unmarked(path: str) -> None:
    """Refuse to start a daemon that was stopped on purpose.

    Raises:
        NotRunning: it was.
    """
    if is_marked(path):
        raise NotRunning(STOPPED)


def _marker(path: str) -> str:
    return f"{path}.stopped"
