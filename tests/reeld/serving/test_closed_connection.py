"""A closed connection is freed at once, not when the garbage collector next runs."""

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import trio
from msgpack import packb
from trio.testing import wait_all_tasks_blocked

from reeld.serving.call import Services
from reeld.serving.connection import Connection
from reeld.serving.flow import Limits
from reeld.serving.listener import open_listener
from reeld.serving.server import Server
from tests.daemon import short_directory
from tests.patience import PATIENCE

_OLD_NEOVIM = {"client": {"name": "nvim", "version": "0.9.0"}}


def call(number: int, method: str, *params: Any) -> bytes:
    """Return the bytes of a request."""
    return packb([0, number, method, params])


@pytest.fixture
def uncollected() -> Iterator[None]:
    """The garbage collector does not run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def connections() -> int:
    """Return how many connections are in memory."""
    return sum(type(each) is Connection for each in gc.get_objects())


@asynccontextmanager
async def served(services: Services, limits: Limits | None = None) -> AsyncIterator[tuple[Server, str]]:
    """Run a server; yield it and the path of its socket."""
    with anyio.fail_after(PATIENCE), short_directory() as directory:
        path, server = str(directory / "s"), Server(limits)
        async with open_listener(path) as listening, trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: server.run([listening], services, task_status=task_status))
            yield server, path
            await server.close()


async def settled(server: Server) -> None:
    """Wait until no connection is served any more."""
    while server.counters()["connections"]:  # noqa: ASYNC110 - there is no event to wait for
        await anyio.sleep(0.001)  # between two looks
    await wait_all_tasks_blocked()


def garbage() -> list[str]:
    """Run the garbage collector, and return what it found of ours: the rest is the test's."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    found = [type(each) for each in gc.garbage]
    gc.garbage.clear()
    return [each.__qualname__ for each in found if each.__module__.startswith(("reel.", "reeld."))]


@pytest.mark.parametrize(
    ("sent", "is_answered"),
    [
        pytest.param(b"", False, id="nothing"),
        pytest.param(call(1, "ping"), True, id="a request"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', True, id="a request in JSON"),
        pytest.param(b"hello\n", True, id="no framing of ours"),
        pytest.param(call(1, "ping") + call(2, "ping")[:-1], True, id="half a message"),
        pytest.param(call(1, "subscribe"), True, id="a subscription"),
        pytest.param(call(1, "subscribe", "demo", 0), True, id="a subscription from the past"),
        pytest.param(call(1, "add", "demo", "hi", False, None, "key"), True, id="a command with a key"),
        pytest.param(call(1, "kill", "nobody", False, None, "other key"), True, id="a refused command with a key"),
        pytest.param(call(1, "no_such_method"), True, id="an unknown method"),
        pytest.param(call(1, "messages", "nobody"), True, id="an unknown agent"),
        pytest.param(call(1, "wait", "demo", 9) + call(2, "ping"), True, id="a wait"),
        pytest.param(call(1, "hello", _OLD_NEOVIM) + call(2, "wait", "demo", 9), True, id="an old Neovim"),
    ],
)
@pytest.mark.usefixtures("uncollected")
async def test_freed_at_once(services: Services, sent: bytes, is_answered: bool) -> None:
    """Nothing keeps a connection, or a part of it, alive after its peer has closed it, whatever the peer did."""
    async with served(services) as (server, path):
        async with await anyio.connect_unix(path) as first:
            await first.send(call(1, "create", "demo"))
            await first.receive()
            assert 1 == connections()
        async with await anyio.connect_unix(path) as peer:
            if sent:
                await peer.send(sent)
            if is_answered:
                await peer.receive()
            await wait_all_tasks_blocked()
        await settled(server)

        assert 0 == connections()
        assert [] == garbage()


@pytest.mark.usefixtures("uncollected")
async def test_freed_while_it_does_not_read(services: Services) -> None:
    """Nothing keeps a connection that is closed because its peer does not read, nor what was being sent to it."""
    async with served(services, Limits(stall=0.01)) as (server, path):
        async with await anyio.connect_unix(path) as peer:
            await peer.send(call(1, "add", "demo", ["x" * (1 << 20)] * 4, True))
            assert 1 == connections()
            await peer.send(call(2, "messages", "demo"))
            await wait_all_tasks_blocked()
            await settled(server)

        assert 0 == connections()
        assert [] == garbage()
