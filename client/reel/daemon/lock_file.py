"""The lock files of a daemon, as a client reads them: who holds one, and where that process listens.

A daemon signs the lock beside its socket and the lock beside its database: its pid, its socket, the path of the
database if the file is not beside it, and a second socket, which is beside the database. Whoever finds the database
locked finds its daemon that way, whatever became of the runtime directory, or whatever a cron job has for one.
"""

from __future__ import annotations

import os

from reel.base.errors import NotRunning
from reel.base.light_typing import NamedTuple
from reel.daemon.address import default_database, usual_socket

# Bytes of a lock file: three paths and a number.
LONGEST = 4 * 4096
_PROC = "/proc"
# Seconds for lsof, which asks the kernel for the open files of all processes.
_LSOF_WITHIN = 2.0


class Signature(NamedTuple):
    """What a daemon writes into a lock file; what is missing is empty.

    Args:
        pid: its process, in digits.
        socket: the socket that it was told to listen on.
        database: the path of the database, in a lock file that is not beside it.
        beside: the socket that it listens on as well, beside the database.
    """

    pid: str
    socket: str
    database: str = ""
    beside: str = ""

    def encoded(self) -> bytes:
        """Return the content of the file: one line each, as many as there are."""
        lines = f"{self.pid}\n{self.socket}\n{self.database}\n{self.beside}".rstrip("\n")
        return os.fsencode(f"{lines}\n")


def signature(content: bytes) -> Signature:
    """Return what a lock file says; a daemon of an older version wrote fewer lines."""
    pid, socket, database, beside, *_ = (*os.fsdecode(content).split("\n"), "", "", "", "")
    return Signature(pid, socket, database, beside)


def lock_holder(path: str) -> int | None:
    """Return the process that holds the lock of a socket or a database: it wrote its pid there and has it locked.

    Trying the lock instead could make a daemon that is just starting believe that another one is running.
    """
    found = _held(path)
    return None if found is None else int(found.pid)


def daemon_of(path: str, database: str | None = None) -> Signature | None:
    """Return how the daemon signed that holds a database, if it is the one that is expected on a socket.

    It is if it was told to listen there, or if this is the socket that everybody has who names none: then it is in the
    way of any other daemon that could be started.

    Args:
        path: the socket.
        database: the database. Default: the usual one.
    """
    try:
        found, usual = _held(database or default_database()), os.path.abspath(usual_socket())
    except NotRunning:  # reeld.toml cannot be read; whoever starts a daemon is told so
        return None
    return found if found is not None and path in (found.socket, usual) else None


def sockets_by_lock(path: str, database: str | None = None) -> list[str]:
    """Return where else the daemon listens that is expected on a socket; see :func:`daemon_of`."""
    found = daemon_of(path, database)
    others = () if found is None else (found.beside, found.socket)
    return [other for other in others if other not in ("", path) and _is_ours(other)]


def socket_to_use(path: str) -> str:
    """Return the socket itself, or the one that its daemon has if it is not there: for programs that only connect."""
    others = [] if os.path.lexists(path) else sockets_by_lock(path)
    return others[0] if others else path


def _is_ours(path: str) -> bool:
    try:
        return os.lstat(path).st_uid == os.getuid()
    except OSError:
        return False


def _held(path: str) -> Signature | None:
    """Return how the process of this user signed that holds the lock of a path; ``None`` if nobody does."""
    try:
        with open(f"{path}.lock", "rb") as opened:
            status = os.fstat(opened.fileno())
            found = signature(opened.read(LONGEST))
        pid = int(found.pid)
        if status.st_uid != os.getuid():
            return None
        if not os.path.exists(_PROC):
            return found if pid in _openers(f"{path}.lock") else None
        process = f"{_PROC}/{pid}"
        descriptors = os.listdir(f"{process}/fd")
    except (OSError, ValueError):
        return None
    return found if any(_locks(process, descriptor, status) for descriptor in descriptors) else None


def _openers(file: str) -> list[int]:
    """Return the processes that have a file open, on a system without ``/proc``: macOS has ``lsof``."""
    import subprocess  # noqa: PLC0415 - elsewhere it is not needed

    command = ["lsof", "-t", "--", file]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LSOF_WITHIN)  # noqa: S603 - the system's
    except subprocess.TimeoutExpired:
        return []
    return [int(pid) for pid in ran.stdout.split()]


def _locks(process: str, descriptor: str, file: os.stat_result) -> bool:
    """Return whether a descriptor of a process is that file, and has a lock of it (proc(5), ``fdinfo``)."""
    try:
        if not os.path.samestat(os.stat(f"{process}/fd/{descriptor}"), file):
            return False
        with open(f"{process}/fdinfo/{descriptor}", "rb") as opened:
            return b"FLOCK" in opened.read()
    except OSError:
        return False  # closed by now
