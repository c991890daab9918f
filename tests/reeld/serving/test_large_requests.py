"""What a large request took in memory is freed when it has been answered, while its connection stays open."""

import gc
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import ByteStream
from trio.testing import wait_all_tasks_blocked

from reel.wire.frames import Response
from reeld.serving.call import Call, Services
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.reeld.serving.test_closed_connection import garbage, served

# Read in a thread.
_LARGE = 4 << 20


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """The garbage collector does not run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Peer:
    """A connection on which one request after the other is answered."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._framing = ServerMessagePack()

    async def add(self, size: int, role: str = "user") -> Response:
        """Add a message with a text of some characters; return the reply once the daemon has nothing left to do."""
        message = {"role": role, "content": "x" * size}
        params = {"agent": "demo", "messages": [message], "create": True, "key": f"{size}"}
        await self._stream.send(self._framing.request(1, "add", [params]))
        while not (frames := self._framing.feed(await self._stream.receive())):
            pass
        await wait_all_tasks_blocked()
        (reply,) = frames
        assert isinstance(reply, Response)
        return reply


@asynccontextmanager
async def connected(services: Services) -> AsyncIterator[Peer]:
    """Run a server; yield a connection to it on which an agent was made."""
    async with served(services) as (_, path), await anyio.connect_unix(path) as stream:
        peer = Peer(stream)
        await peer.add(1)
        yield peer


@pytest.mark.parametrize("size", [2, _LARGE])
@pytest.mark.parametrize("role", ["user", "nobody"])
async def test_nothing_refers_to_an_answered_request(services: Services, size: int, role: str) -> None:
    """No cycle keeps a request in memory, accepted or refused; nor does the task that has worked on it."""
    async with connected(services) as peer:
        gc.collect()
        reply = await peer.add(size, role)

        assert (reply.error is None) == (role == "user")
        assert [] == [each for each in gc.get_objects() if type(each) is Call]
        assert [] == garbage()


async def test_encoders_do_not_stay_large(services: Services) -> None:
    """After a large message, only the conversation has it in memory: no encoder keeps a buffer of its size."""
    size = 3 * _LARGE  # larger than the buffers after the requests above, in case these are still there
    async with connected(services) as peer:
        tracemalloc.start()
        try:
            await peer.add(size)
            await peer.add(2)  # when it is answered, the writing thread is done with the one before
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert size < kept < 2 * size
