"""The socket: created safely at its path, and created again if it is removed from there."""

import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import SocketListener, SocketStream

from reel.daemon.address import MAX_PATH, fallback_directory
from reeld.startup import StartupError, cannot

log = logging.getLogger(__name__)

# Seconds between two looks whether a socket is still at its path.
_LOOK_EVERY = 0.5

_ELSEWHERE = "choose another path with --socket"


class Listener(Protocol):
    """A source of connections."""

    async def accept(self) -> SocketStream:
        """Wait for a connection."""

    async def aclose(self) -> None:
        """Listen no more."""


class PathListener:
    """A socket at a path, which can be created again if it is removed; see :func:`open_listener`."""

    def __init__(self, path: str, listener: SocketListener, lock_again: Callable[[], None]) -> None:
        self._path = path
        self._listener = listener
        self._lock_again = lock_again
        self._made = _identity(path)
        # Why it could not be created again, which is logged once.
        self._problem: str | None = None

    async def accept(self) -> SocketStream:
        """Wait for a connection."""
        while True:
            listener = self._listener
            try:
                return await listener.accept()
            except anyio.ClosedResourceError:
                if listener is self._listener:  # it was not replaced
                    raise

    async def renew(self) -> None:
        """Create the socket and its directory again if they were removed; log that, or once why it cannot be done."""
        if self._is_in_place():
            return
        try:
            require_path(self._path, fallback_directory())
            self._lock_again()
            before, self._listener = self._listener, await _listen(self._path)
        except StartupError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                log.warning("the socket %s is gone, and cannot be made again: %s", self._path, error)
            return
        self._made, self._problem = _identity(self._path), None
        log.warning("the socket %s was gone, and was made again", self._path)
        await before.aclose()

    def remove(self) -> None:
        """Remove the socket from its path, unless another one is there now."""
        if self._is_in_place():
            os.unlink(self._path)

    def _is_in_place(self) -> bool:
        # The inode number is not reused while the socket is open.
        return self._made is not None and _identity(self._path) == self._made

    async def aclose(self) -> None:
        """Listen no more."""
        await self._listener.aclose()


@asynccontextmanager
async def open_listener(path: str, lock_again: Callable[[], None] = lambda: None) -> AsyncIterator[PathListener]:
    """Create the socket, and remove it when the block ends; the caller holds its lock.

    Args:
        path: where.
        lock_again: takes the lock again if it went away with the socket; raises ``StartupError``.

    Raises:
        StartupError: something else is at the path, or the socket cannot be made; it says what to do.
    """
    listener = PathListener(path, await _listen(path), lock_again)
    try:
        yield listener
    finally:
        listener.remove()
        with anyio.CancelScope(shield=True):
            await listener.aclose()


async def keep_in_place(listeners: Sequence[PathListener]) -> None:
    """Create each socket again that is removed from its path.

    The runtime directory goes at the last logout of a user, and cleaners remove what is old in /tmp.
    """
    while True:
        await anyio.sleep(_LOOK_EVERY)
        for listener in listeners:
            await listener.renew()


async def _listen(path: str) -> SocketListener:
    """Create the socket.

    A stream socket of our user that refuses connections was left behind by a crash, and is removed. Anything else is in
    use. ``anyio.create_unix_listener`` would silently unlink even a live socket.

    Raises:
        StartupError: something else is at the path, or the socket cannot be made; it says what to do.
    """
    require_path(path, fallback_directory())
    try:
        _remove_stale(path)
        return await anyio.create_unix_listener(path, mode=0o600, backlog=1024)
    except OSError as error:
        raise cannot(f"cannot make the socket {path}", error, _ELSEWHERE) from error


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the inode of what is at a path, or ``None`` if that cannot be known."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@asynccontextmanager
async def take_over(given: socket.socket) -> AsyncIterator[SocketListener]:
    """Listen on a socket that the supervisor has created, and leave it in its place when the block ends."""
    listener = await SocketListener.from_socket(given)
    try:
        yield listener
    finally:
        with anyio.CancelScope(shield=True):
            await listener.aclose()


def require_path(path: str, ours: str) -> None:
    """Refuse a path that is too long, or where another user could put a socket in our name.

    Missing directories are created, for their owner only.

    Args:
        ours: a directory that others may make before us: if the path is in it, only its owner may enter it.

    Raises:
        StartupError: the path cannot be used; it says what to do.
    """
    if len(os.fsencode(path)) > MAX_PATH:
        raise StartupError(
            f"the socket's path has {len(os.fsencode(path))} bytes, more than the limit of {MAX_PATH};"
            " choose a shorter one with --socket or REEL_SOCKET"
        )
    directory = Path(path).parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
        owners = (found.st_uid, directory.stat().st_uid)  # of a symlink, and of what it names
    except OSError as error:
        raise cannot(f"cannot make the socket's directory {directory}", error) from error
    if str(directory) == ours and (
        not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077
    ):
        raise StartupError(
            f"{directory} is not a directory that only you can enter; remove it, or choose another path with --socket"
        )
    for owner in owners:
        if owner not in (os.getuid(), 0):
            raise StartupError(
                f"the socket's directory {directory} belongs to another user (uid {owner}); {_ELSEWHERE}"
            )


def _remove_stale(path: str) -> None:
    """Remove the socket that a crash has left at a path.

    Raises:
        StartupError: the file may be in use, or is not ours.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise StartupError(f"{path} exists and is not a socket; remove it, or {_ELSEWHERE}")
    if found.st_uid != os.getuid():
        raise StartupError(f"{path} belongs to another user (uid {found.st_uid}); {_ELSEWHERE}")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)  # a listener whose queue is full would make us wait
        status = probe.connect_ex(path)
    if status == errno.EPROTOTYPE:
        raise StartupError(f"another program has a socket of another kind at {path}; stop it, or {_ELSEWHERE}")
    if status in (0, errno.EAGAIN, errno.EINPROGRESS):
        raise StartupError(f"another program answers on {path}; stop it, or {_ELSEWHERE}")
    if status != errno.ECONNREFUSED:  # only this error proves that no process has it open
        raise StartupError(f"cannot find out who listens on {path}: {os.strerror(status)}; {_ELSEWHERE}")
    os.unlink(path)
