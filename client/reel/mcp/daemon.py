"""The connection to the daemon: made when it is first needed, so that the client's first request does not wait for it.

A daemon that is gone is started again; if that fails, the next call tries once more.
"""

import anyio

from reel.aio.client import Client
from reel.aio.connecting import connect
from reel.base.errors import NotRunning, ReelError
from reel.base.wakeup import Signal

# The name under which the daemon stores what this server writes.
NAME = "mcp"
# Seconds for which a call waits for a daemon that went away; agents give up after a minute.
_PATIENCE = 10.0
# Seconds that a call may take.
_LIMIT = 30.0


class Daemon:
    """The daemon on a socket.

    Args:
        socket: its path.
        starts: whether to start it if none runs.
    """

    def __init__(self, socket: str, *, starts: bool) -> None:
        self._socket = socket
        self._starts = starts
        self._wanted = Signal()
        self._tried = anyio.Event()
        self._client: Client | None = None
        self._error: ReelError = NotRunning(f"no daemon answers on {socket}")

    async def run(self) -> None:
        """Keep the connection, from the first call on."""
        while True:
            await self._wanted.wait()
            try:
                async with connect(
                    self._socket, autostart=self._starts, patience=_PATIENCE, timeout=_LIMIT, name=NAME
                ) as client:
                    self._client = client
                    self._tell()
                    await anyio.sleep_forever()
            except ReelError as error:
                self._error = error
                self._tell()

    def _tell(self) -> None:
        self._tried.set()
        self._tried = anyio.Event()

    async def client(self) -> Client:
        """Return the client, connected.

        Raises:
            ReelError: no daemon answers, and none could be started.
        """
        if self._client is None:
            tried = self._tried
            self._wanted.set()
            await tried.wait()
        if self._client is None:
            raise self._error
        return self._client
