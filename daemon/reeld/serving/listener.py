"""The socket: made safely, and a connection for whoever may call."""

import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskStatus

from reel.address import MAX_PATH, fallback_directory
from reel.errors import Busy
from reel.peer import peer_of
from reel.session import detect
from reeld.serving.call import Services
from reeld.serving.connection import Connection
from reeld.serving.flow import Limits, Traffic
from reeld.startup import StartupError

log = logging.getLogger(__name__)

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE = 0.1
# How long a connection that is one too many is heard before it is told so, in seconds, and how many are at a time.
_HEARING = 1.0
_MOST_HEARD = 32
# How long answers that are in flight may take when the daemon stops, in seconds.
_GRACE = 5.0


@asynccontextmanager
async def open_listener(path: str) -> AsyncIterator[SocketListener]:
    """Make the socket, and remove it when the block ends; the caller holds its lock.

    A socket that nobody answers on is left over from a crash and removed; anything else is somebody's.
    """
    require_path(path)
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISSOCK(mode):
            raise StartupError(f"{path} is there and no socket; remove it, or name another path with --socket")
        if _answers(path):
            raise StartupError(f"another program answers on {path}; stop it, or name another path with --socket")
        os.unlink(path)  # noqa: PTH108 - as it was named: a Path would not add anything
    listener = await anyio.create_unix_listener(path, mode=0o600, backlog=1024)
    try:
        yield listener
    finally:
        Path(path).unlink(missing_ok=True)  # noqa: ASYNC240 - one call at the end
        with anyio.CancelScope(shield=True):
            await listener.aclose()


@asynccontextmanager
async def take_over(given: socket.socket) -> AsyncIterator[SocketListener]:
    """Listen on a socket that somebody else has made, and leave it in its place when the block ends."""
    listener = await SocketListener.from_socket(given)
    try:
        yield listener
    finally:
        with anyio.CancelScope(shield=True):
            await listener.aclose()


def require_path(path: str) -> None:
    """Refuse a path that the kernel would not take, or where somebody else could put a socket in our name.

    Directories that are missing are made, for their owner only.
    """
    if len(os.fsencode(path)) > MAX_PATH:
        raise StartupError(
            f"the socket's path has {len(os.fsencode(path))} bytes, {MAX_PATH} are possible;"
            " name a shorter one with --socket or REEL_SOCKET"
        )
    directory = Path(path).parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartupError(f"cannot make the socket's directory {directory}: {error.strerror}") from error
    found = directory.lstat()
    if str(directory) == fallback_directory() and (
        not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077
    ):
        raise StartupError(
            f"{directory} is not a directory of our own that nobody else can enter;"
            " remove it, or name another path with --socket"
        )


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


class Server:
    """Accepts connections and serves them.

    Args:
        limits: what one connection may have in flight.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._load = Traffic()
        self._connections: set[Connection] = set()
        self._numbers = count(1)
        self._heard = 0
        self._refused = 0
        self._accepting = anyio.CancelScope()
        self._closed = anyio.Event()

    def counters(self) -> dict[str, Any]:
        """Count connections and what they have in flight."""
        return {
            "connections": len(self._connections),
            "requests_in_flight": self._load.requests,
            "bytes_in_flight": self._load.bytes,
            "refused_requests": self._load.refused,
            "bytes_waiting": self._load.waiting,
            "refused_connections": self._refused,
            "dropped_connections": self._load.dropped,
        }

    async def run(
        self, listener: SocketListener, services: Services, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until :meth:`close`; connections then get their answers before they end."""
        async with anyio.create_task_group() as tasks:
            task_status.started()
            with self._accepting:
                while True:
                    stream = await self._accept(listener)
                    if stream is not None:
                        tasks.start_soon(self._serve, stream, services)
            await listener.aclose()
            for connection in self._connections:
                connection.refuse_more()
            with anyio.move_on_after(_GRACE):
                for connection in list(self._connections):
                    await connection.finish()
                for connection in self._connections:
                    connection.say_bye("the daemon stops")
                for connection in list(self._connections):  # one that does not read holds up nobody else
                    await connection.drain()
            tasks.cancel_scope.cancel()
        self._closed.set()

    async def close(self) -> None:
        """Stop accepting, finish what is in flight, and end every connection."""
        self._accepting.cancel()
        await self._closed.wait()

    async def _accept(self, listener: SocketListener) -> SocketStream | None:
        """Accept a connection; where there is no room for one, wait a moment."""
        try:
            stream = await listener.accept()
        except anyio.BrokenResourceError as error:
            cause = error.__cause__  # anyio wraps what the system said
            if not isinstance(cause, OSError) or cause.errno not in _FULL:
                raise
            log.warning("cannot accept a connection: %s", cause.strerror)
            await anyio.sleep(_PAUSE)
            return None
        if may_call(stream.extra(SocketAttribute.raw_socket)):
            return stream
        await anyio.aclose_forcefully(stream)
        return None

    async def _serve(self, stream: SocketStream, services: Services) -> None:
        if len(self._connections) >= self._limits.max_open:
            await self._turn_away(stream)
            return
        connection = Connection(stream, next(self._numbers), services, self._load, self._limits)
        self._connections.add(connection)
        try:
            await connection.serve()
        except Exception:
            log.exception("connection=%d failed", connection.number)
        finally:
            self._connections.discard(connection)

    async def _turn_away(self, stream: SocketStream) -> None:
        """Tell a connection that it is one too many, in the framing in which it begins to speak."""
        self._refused += 1
        if not self._heard:
            log.warning("%d connections are open; more are refused", len(self._connections))
        if self._heard >= _MOST_HEARD:
            await anyio.aclose_forcefully(stream)
            return
        self._heard += 1
        try:
            with anyio.move_on_after(_HEARING), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                async with stream:
                    framing = detect((await stream.receive())[0])
                    if framing is not None:
                        await stream.send(framing.refuse(None, Busy(_CROWDED)))
        finally:
            self._heard -= 1


_CROWDED = "too many connections are open; close one, or let reeld have more with --connection-max-open"


def may_call(connection: socket.socket) -> bool:
    """Tell whether the process at the other end is ours, or root's."""
    peer = peer_of(connection)
    if not peer.is_trusted:
        log.warning("refused a connection of uid %d", peer.uid)
    return peer.is_trusted
