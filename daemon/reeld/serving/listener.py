"""The socket: created safely, and a connection for every process of the same user."""

import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup, TaskStatus

from reel.base.errors import Busy
from reel.daemon.address import MAX_PATH, fallback_directory
from reel.daemon.peer import peer_of
from reeld.serving.call import Services
from reeld.serving.connection import Connection
from reeld.serving.flow import Limits, Traffic
from reeld.serving.methods import METHODS
from reeld.startup import StartupError, cannot
from reeld.wire.detection import detect

log = logging.getLogger(__name__)

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE = 0.1
# How many seconds a connection beyond the limit may take to show its framing, in which the refusal is sent; and how
# many are refused at a time.
_REFUSAL_TIMEOUT = 1.0
_MAX_BEING_REFUSED = 32
# Seconds between two looks whether a socket is still at its path.
_LOOK_EVERY = 0.5
# Seconds for the replies that are in flight when the daemon stops; systemd kills it after 30 (reeld.service).
_GRACE = 5.0

_ELSEWHERE = "choose another path with --socket"
_CROWDED = "too many connections are open; close one, or raise the limit with reeld --connection-max-open"


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


class Server:
    """Accepts connections and serves them.

    Args:
        limits: what one connection may have in flight.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._load = Traffic(METHODS)
        self._connections: set[Connection] = set()
        self._numbers = count(1)
        self._being_refused = 0
        self._refused_count = 0
        self._accepting = anyio.CancelScope()
        self._closed = anyio.Event()

    def counters(self) -> dict[str, Any]:
        """Return counts of connections and of what they have in flight."""
        return {
            "connections": len(self._connections),
            "clients": sorted(connection.client or "" for connection in self._connections),
            "requests_in_flight": self._load.requests,
            "bytes_in_flight": self._load.bytes,
            "refused_requests": self._load.refused,
            "bytes_waiting": self._load.waiting,
            "refused_connections": self._refused_count,
            "dropped_connections": self._load.dropped,
            "errors": dict(self._load.errors),
            "request_seconds": {
                name: seconds.as_map() for name, seconds in self._load.request_seconds.items() if seconds
            },
        }

    def describe_connections(self) -> list[dict[str, Any]]:
        """Describe each connection, the oldest first."""
        return [each.as_map() for each in sorted(self._connections, key=lambda connection: connection.number)]

    def report_warnings(self) -> None:
        """Log how many warnings about connections were omitted since the last report."""
        self._load.warnings.report()

    async def run(
        self,
        listeners: Sequence[Listener],
        services: Services,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until :meth:`close`; connections then get their replies before they end."""
        self._load.batch = services.store.poller.batch
        async with anyio.create_task_group() as tasks:
            task_status.started()
            with self._accepting:
                async with anyio.create_task_group() as accepting:
                    for listener in listeners:
                        accepting.start_soon(self._accept_all, listener, services, tasks)
            for listener in listeners:
                await listener.aclose()
            for connection in self._connections:
                connection.refuse_more()
            with anyio.move_on_after(_GRACE):
                for connection in list(self._connections):
                    await connection.finish()
                for connection in self._connections:
                    connection.say_bye("the daemon stops")
                for connection in list(self._connections):  # last, so that one that does not read delays no other
                    await connection.drain()
            tasks.cancel_scope.cancel()
        self.report_warnings()
        self._closed.set()

    async def close(self) -> None:
        """Stop accepting, finish what is in flight, and end every connection."""
        self._accepting.cancel()
        await self._closed.wait()

    async def _accept_all(self, listener: Listener, services: Services, tasks: TaskGroup) -> None:
        while True:
            stream = await self._accept(listener)
            if stream is not None:
                tasks.start_soon(self._serve, stream, services)

    async def _accept(self, listener: Listener) -> SocketStream | None:
        """Accept a connection; if the system is out of files, log it and wait a moment."""
        try:
            stream = await listener.accept()
        except (anyio.BrokenResourceError, MemoryError) as error:
            cause = error if isinstance(error, MemoryError) else error.__cause__  # anyio wraps what the system said
            if not isinstance(cause, MemoryError) and not (isinstance(cause, OSError) and cause.errno in _FULL):
                raise
            log.warning("cannot accept a connection: %s", getattr(cause, "strerror", "there is not enough memory"))
            await anyio.sleep(_PAUSE)
            return None
        if is_trusted_peer(stream.extra(SocketAttribute.raw_socket)):
            return stream
        await anyio.aclose_forcefully(stream)
        return None

    async def _serve(self, stream: SocketStream, services: Services) -> None:
        if len(self._connections) >= self._limits.max_open:
            await self._refuse(stream)
            return
        connection = Connection(stream, next(self._numbers), services, self._load, self._limits)
        self._connections.add(connection)
        try:
            await connection.serve()
        except* MemoryError:
            text = "connection=%d: there is not enough memory; closing it"
            self._load.warnings.warn(connection.number, text, connection.number)
        except* Exception:
            log.exception("connection=%d failed", connection.number)
        finally:
            self._connections.discard(connection)

    async def _refuse(self, stream: SocketStream) -> None:
        """Refuse a connection beyond the limit, in the framing in which it begins to speak."""
        self._refused_count += 1
        if not self._being_refused:
            self._load.warnings.warn(None, "%d connections are open; more are refused", len(self._connections))
        if self._being_refused >= _MAX_BEING_REFUSED:
            await anyio.aclose_forcefully(stream)
            return
        self._being_refused += 1
        try:
            with anyio.move_on_after(_REFUSAL_TIMEOUT), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                async with stream:
                    framing = detect((await stream.receive())[0])
                    if framing is not None:
                        await stream.send(framing.refuse(None, Busy(_CROWDED)))
        finally:
            self._being_refused -= 1


def is_trusted_peer(connection: socket.socket) -> bool:
    """Return whether the process at the other end belongs to our user, or to root."""
    peer = peer_of(connection)
    if not peer.is_trusted:
        log.warning("refused a connection of uid %d", peer.uid)
    return peer.is_trusted
