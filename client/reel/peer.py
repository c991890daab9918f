"""Who is at the other end of a Unix socket."""

import os
import socket
import struct
from typing import NamedTuple

from reel.errors import NotRunning

_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class Peer(NamedTuple):
    """A process and its user, as the kernel has them."""

    pid: int
    uid: int

    @property
    def is_own(self) -> bool:
        """Whether it is ours, or root's."""
        return self.uid in (os.getuid(), 0)


def peer_of(connection: socket.socket) -> Peer:
    """Ask the kernel who is at the other end."""
    pid, uid, _gid = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return Peer(pid, uid)


def require_own(connection: socket.socket, path: str) -> None:
    """Talk to nobody else's daemon: what is said here is private.

    Raises:
        NotRunning: somebody else's answers.
    """
    peer = peer_of(connection)
    if not peer.is_own:
        raise NotRunning(f"who answers on {path} is another user (uid {peer.uid}), and was told nothing")
