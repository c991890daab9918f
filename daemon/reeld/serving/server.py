"""The server: a connection for every process of the same user."""

import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM
from itertools import count
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup, TaskStatus

from reel.base.errors import Busy
from reel.daemon.peer import peer_of
from reeld.serving.call import Services
from reeld.serving.connection import Connection
from reeld.serving.flow import Limits, Traffic
from reeld.serving.listener import Listener
from reeld.serving.methods import METHODS
from reeld.wire.detection import detect

log = logging.getLogger(__name__)

_FULL = frozenset({EMFILE, ENFILE, ENOBUFS, ENOMEM})
_PAUSE = 0.1
# How many seconds a connection beyond the limit may take to show its framing, in which the refusal is sent; and how
# many are refused at a time.
_REFUSAL_TIMEOUT = 1.0
_MAX_BEING_REFUSED = 32
# Seconds for the replies that are in flight when the daemon stops; systemd kills it after 30 (reeld.service).
_GRACE = 5.0

_CROWDED = "too many connections are open; close one, or raise the limit with reeld --connection-max-open"


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
