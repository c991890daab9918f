"""Which process answers on a socket, or where the lock of the database says that its daemon listens."""

import socket

from reel.daemon.lock_file import sockets_by_lock
from reel.daemon.peer import connect_within, peer_of
from reel.wire.session import MessagePack

# A daemon that accepts a connection and does not answer for this many seconds is busy, and not about to end.
_BUSY = 2.0


def answers(path: str, database: str | None = None) -> bool:
    """Return whether a daemon answers on a socket, or, if none does, where the lock of the database says.

    Args:
        path: the socket.
        database: the database. Default: the usual one.
    """
    return listener(path, database) is not None


def listener(path: str, database: str | None) -> int | None:
    """Return the id of the process that answers, or ``None``; see :func:`_listener_on`."""
    found = _listener_on(path)
    if found is not None:
        return found
    elsewhere = map(_listener_on, sockets_by_lock(path, database))
    return next((pid for pid in elsewhere if pid is not None), None)


def _listener_on(path: str) -> int | None:
    """Return the id of the process that answers on a socket, or ``None``; 0 if it does not accept connections.

    A connection alone proves nothing: the socket of a process that was killed accepts connections until it has ended.
    """
    pid = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            connect_within(probe, path, _BUSY)
            pid = peer_of(probe).pid
            probe.settimeout(_BUSY)
            probe.sendall(MessagePack().request(0, "ping", []))
            if not probe.recv(1):
                return None
        except TimeoutError:
            pass  # it is busy
        except OSError:
            return None
    return pid
