"""The server: it listens on this machine only, and ends on a signal."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream

from reel.aio import connect
from reel.viewing.guard import Guard, owner_of
from reel.viewing.http_server import serve
from reel.viewing.site import Site

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds for which the daemon may be away before a page reports it.
_PATIENCE = 1.0
# A browser opens six connections. Those beyond this limit are closed.
_CONNECTIONS = 128
_ROOT = 0


def view(socket: str, page: str, port: int, announce: Callable[[str], None]) -> signal.Signals:
    """Serve pages until a signal arrives, and return the signal.

    Args:
        socket: the path of the daemon's socket.
        page: the path of the first page.
        port: the port to listen on; 0 for a free one.
        announce: called in a thread with the link to the page, once it is reachable.

    Raises:
        OSError: it cannot listen on the port.
        NotRunning: the daemon does not answer.
    """
    return anyio.run(_run, socket, page, port, announce, backend="trio")


async def _run(socket: str, page: str, port: int, announce: Callable[[str], None]) -> signal.Signals:
    with anyio.open_signal_receiver(*_ENDING) as signals:
        async with (
            connect(socket, patience=_PATIENCE, name="reel view") as client,
            await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener,
        ):
            guard = Guard(listener.extra(SocketAttribute.local_port), page)
            server = _Server(Site(client, guard))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, server.accept)
                tasks.start_soon(_announced, announce, guard.link)
                async for number in signals:
                    tasks.cancel_scope.cancel()
                    return number
    raise AssertionError  # the receiver of signals never ends


async def _announced(announce: Callable[[str], None], link: str) -> None:
    # Opening a browser may take long, and must delay neither the pages nor the shutdown.
    await anyio.to_thread.run_sync(announce, link, abandon_on_cancel=True)


class _Server:
    """Accepts connections.

    Args:
        site: answers requests.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._connections = 0

    async def accept(self, stream: SocketStream) -> None:
        """Answer the requests on a connection, unless it belongs to another user of this machine."""
        theirs = stream.extra(SocketAttribute.remote_address)
        owner = owner_of((theirs[0], theirs[1]), stream.extra(SocketAttribute.local_address))  # type: ignore[arg-type]
        if owner not in (None, _ROOT, os.geteuid()) or self._connections >= _CONNECTIONS:
            with suppress(OSError):
                await anyio.aclose_forcefully(stream)
            return
        self._connections += 1
        try:
            await serve(stream, self._site.answer)
        finally:
            self._connections -= 1
