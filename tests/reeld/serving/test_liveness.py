"""A peer that has closed its socket is noticed; one that has only closed its sending half is not taken for it."""

import socket

import anyio
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reel.wire.frames import Response
from reeld.serving import connection
from reeld.serving.call import Services
from reeld.serving.connection import until_closed
from reeld.serving.listener import PathListener, open_listener
from reeld.serving.server import Server
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.daemon import short_directory
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often enough for a test."""
    monkeypatch.setattr(connection, "_LOOK_EVERY", 0.001)


async def accepted(listener: PathListener, client: socket.socket, path: str) -> anyio.abc.SocketStream:
    """Connect a socket, and return the other end."""
    client.connect(path)
    return await listener.accept()


async def test_a_closed_socket_ends_the_wait() -> None:
    """A closed socket ends the wait; closing one direction does not."""
    with anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(directory / "s")
        async with open_listener(path) as listener:
            with socket.socket(socket.AF_UNIX) as client:
                async with await accepted(listener, client, path) as stream:
                    client.shutdown(socket.SHUT_WR)
                    with anyio.move_on_after(0.05) as waited:
                        await until_closed(stream)
                    assert waited.cancelled_caught

                    client.close()
                    await until_closed(stream)


async def test_no_socket() -> None:
    """A stream without a socket is never taken for closed."""
    near, far = anyio.create_memory_object_stream[bytes](1)
    await near.aclose()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_closed, far)  # type: ignore[arg-type]  # it has what is needed of one
        await wait_all_tasks_blocked()
        assert 1 == len(nursery.child_tasks)

        nursery.cancel_scope.cancel()
    await far.aclose()


async def serve(server: Server, services: Services, path: str, *, task_status: trio.TaskStatus[None]) -> None:
    """Run a server."""
    async with open_listener(path) as listener:
        await server.run([listener], services, task_status=task_status)


async def test_a_wait_ends_when_its_peer_closes(services: Services) -> None:
    """A waiting request ends when its peer closes, and so does the connection; others go on."""
    with anyio.fail_after(PATIENCE), short_directory() as directory:
        path, server, framing = str(directory / "s"), Server(), ServerMessagePack()
        wait = framing.request(1, "wait", ["demo", 1, None, 3_600_000])
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: serve(server, services, path, task_status=task_status))
            async with await anyio.connect_unix(path) as patient:
                await patient.send(framing.request(0, "create", ["demo"]))
                framing.feed(await patient.receive())
                await patient.send(wait)
                await patient.send_eof()
                async with await anyio.connect_unix(path) as gone:
                    await gone.send(wait)
                while server.counters()["connections"] != 1:  # noqa: ASYNC110 - there is no event to wait for
                    await anyio.sleep(0.001)  # between two looks

                async with await anyio.connect_unix(path) as other:
                    await other.send(framing.request(2, "add", ["demo", "hi"]))
                    (answer,) = framing.feed(await patient.receive())
                    assert isinstance(answer, Response)
                    assert 2 == answer.result["head"]
            await server.close()
            nursery.cancel_scope.cancel()
