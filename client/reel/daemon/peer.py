"""The process at the other end of a Unix socket: its identity, whether to trust it, and how long to wait for it."""

from __future__ import annotations

import _socket as socket  # without the enums of `socket`: creating them took a quarter of the time of `reel add`
import os
import struct

from reel.base.errors import NotRunning
from reel.base.light_typing import NamedTuple

# How long a client tries to reconnect after losing the connection, in seconds: enough for a daemon to be restarted.
RECONNECT_SECONDS = 10.0
# The longest pause between two attempts, in seconds. No notification exists for a socket that is listening again.
RETRY_INTERVAL = 0.25
# How long one try may take at least, in seconds, however short the time for all of them is.
ATTEMPT = 1.0
_TIME = struct.Struct("ll")  # struct timeval: seconds, microseconds
_CREDENTIALS = struct.Struct("3i")  # Linux's struct ucred: pid, uid, gid

# macOS: sys/un.h and sys/ucred.h. Python has no names for them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED = struct.Struct("IIh2x16I")  # version, uid, number of groups, groups


class Peer(NamedTuple):
    """A process and its user, as the kernel reports them."""

    pid: int
    uid: int

    @property
    def is_trusted(self) -> bool:
        """Whether it belongs to this user, or to root, who can read everything anyway."""
        return self.uid in (os.getuid(), 0)


def peer_of(connection: socket.socket) -> Peer:
    """Ask the kernel for the process at the other end, on Linux or macOS."""
    if not hasattr(socket, "SO_PEERCRED"):
        _version, uid, *_groups = _XUCRED.unpack(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size))
        return Peer(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid)
    pid, uid, _gid = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return Peer(pid, uid)


def require_trusted(connection: socket.socket, path: str) -> None:
    """Refuse to talk to another user's daemon, since conversations are private.

    Raises:
        NotRunning: the daemon belongs to another user.
    """
    peer = peer_of(connection)
    if not peer.is_trusted:
        raise NotRunning(f"the daemon on {path} belongs to another user (uid {peer.uid}); nothing was sent to it")


def connect_within(connection: socket.socket, path: str, seconds: float | None) -> None:
    """Connect a blocking socket, with a limit on the wait for a listener whose queue is full.

    Python's own timeout makes the socket non-blocking, and then a full queue fails at once.

    Args:
        connection: the socket.
        path: the path of the socket.
        seconds: how long to wait; ``None`` for as long as it takes.

    Raises:
        TimeoutError: the listener did not accept the connection in time.
        OSError: nobody is listening, or the path is unusable.
    """
    if seconds is not None:
        # A timeout of zero would mean no limit.
        microseconds = max(int(seconds * 1_000_000), 1)
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIME.pack(microseconds // 1_000_000, microseconds % 1_000_000)
        )
    try:
        connection.connect(path)
    except BlockingIOError:
        raise TimeoutError from None
    if seconds is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIME.pack(0, 0))


def connection_refused(path: str, error: OSError) -> NotRunning:
    """Return the error for a socket that cannot be connected to, with the remedy."""
    from reel.daemon.stop_marker import STOPPED, is_marked  # noqa: PLC0415 - a command that connects needs none

    if is_marked(path):
        return NotRunning(STOPPED)
    return NotRunning(f"no daemon answers on {path} ({error.strerror or error}); start it with: reel start")


def was_there(path: str) -> bool:
    """Whether a daemon was on a socket, or is about to be, unless it was stopped on purpose.

    A killed daemon leaves its socket behind, and every daemon its lock file.
    """
    from reel.daemon.stop_marker import is_marked  # noqa: PLC0415 - as above

    return not is_marked(path) and any(os.path.lexists(name) for name in (path, f"{path}.lock"))
