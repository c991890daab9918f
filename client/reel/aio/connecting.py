"""How the async client connects: for a block, or until it is closed."""

from collections.abc import AsyncIterator, Awaitable, Generator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import SocketStream

from reel.aio.client import Client
from reel.daemon.address import default_socket
from reel.daemon.peer import RECONNECT_SECONDS


def connect(
    path: str | None = None,
    *,
    autostart: bool = False,
    patience: float = RECONNECT_SECONDS,
    timeout: float | None = None,
    name: str = "python",
) -> "Connecting":
    """Connect to the daemon.

    ``async with connect() as client:`` connects for a block. ``client = await connect()`` connects until
    ``await client.close()``, for example in a notebook, whose cells share no block. That works on asyncio only: in trio
    every task belongs to a block.

    Args:
        path: the socket. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        patience: how long to try to reconnect after the connection was lost, in seconds.
        timeout: how long one call may take, in seconds, not counting the start of a daemon. Default: no limit.
        name: the name of this client, which the daemon stores with its events.

    Raises:
        NotRunning: no daemon answers on the socket.
        Timeout: what listens there does not accept the connection or answer within ``timeout``.
    """
    path = path or default_socket()
    return Connecting(Client(path, autostart=autostart, patience=patience, timeout=timeout, name=name))


class Connecting(AbstractAsyncContextManager[Client], Awaitable[Client]):
    """A client that connects when a block is entered, or when it is awaited."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._block = _connected(client)

    async def __aenter__(self) -> Client:
        return await self._block.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._block.__aexit__(kind, error, trace)

    def __await__(self) -> Generator[Any, Any, Client]:
        return _detached(self._client).__await__()


async def _detached(client: Client) -> Client:
    """Connect, and keep the connection in a task of its own."""
    import asyncio  # noqa: PLC0415 - on trio it is not needed

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("`await connect()` works on asyncio only; use: async with connect() as client") from None
    stream = await client.open()
    client.belong_to(asyncio.create_task(client.keep(stream)))
    return client


@asynccontextmanager
async def _connected(client: Client) -> AsyncIterator[Client]:
    """Connect, and keep the connection for as long as the block lasts."""
    stream = await client.open()
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(_flat_task_group())
        # Shielded: if the block is cancelled, an answer in it still has to be added. The end of the block ends it.
        keeping = anyio.CancelScope(shield=True)
        tasks.start_soon(_keep, client, stream, keeping)
        try:
            yield client
        finally:
            keeping.cancel()


async def _keep(client: Client, stream: SocketStream, scope: anyio.CancelScope) -> None:
    with scope:
        await client.keep(stream)


@asynccontextmanager
async def _flat_task_group() -> AsyncIterator[anyio.abc.TaskGroup]:
    """Yield a task group that raises a single error as itself, since the user of a client did not ask for groups."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise
