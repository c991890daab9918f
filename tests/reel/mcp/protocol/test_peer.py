"""The client at the other end, as lines in memory."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, closing
from typing import Any

import anyio
import pytest

from reel.mcp.protocol.frames import INTERNAL_ERROR, INVALID_PARAMS, Notification, ProtocolError, Request
from reel.mcp.protocol.peer import Peer
from tests.patience import PATIENCE


class Client:
    """A client of a peer whose requests are handled by a function."""

    def __init__(self, handle: Callable[[Request], Awaitable[dict[str, Any]]]) -> None:
        self._send, self._lines = anyio.create_memory_object_stream[bytes](100)
        self._replies, self._receive = anyio.create_memory_object_stream[bytes](100)
        self.noted: list[Notification] = []
        self.peer = Peer(self._lines, self._replies.send, handle, self.noted.append)

    async def send(self, line: bytes) -> None:
        """Send a line."""
        await self._send.send(line)

    async def say(self, **message: Any) -> None:
        """Send a message."""
        await self.send(json.dumps(message).encode())

    async def hear(self) -> Any:
        """Return the next message."""
        return json.loads(await self._receive.receive())

    def leave(self) -> None:
        """Close this end."""
        self._send.close()

    def close(self) -> None:
        """Close all of it."""
        for end in (self._send, self._lines, self._replies, self._receive):
            end.close()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A client whose requests are handled as their methods say."""
    with anyio.fail_after(PATIENCE):
        with closing(Client(_handle)) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.peer.run)
                yield client
                client.leave()


async def _handle(request: Request) -> dict[str, Any]:
    match request.method:
        case "hang":
            await anyio.sleep_forever()
        case "refuse":
            raise ProtocolError(INVALID_PARAMS, "no")
        case "fail":
            raise LookupError("broken")
    return {"of": request.id}


async def test_replies(client: Client) -> None:
    """Each request gets its reply, under its id, and one that hangs holds up nobody."""
    await client.say(id="h", method="hang")
    await client.say(id=1, method="x")
    await client.say(id="two", method="x")

    assert [{"of": 1}, {"of": "two"}] == [(await client.hear())["result"] for _ in range(2)]
    await client.say(method="notifications/cancelled", params={"requestId": "h"})


async def test_a_request_that_is_cancelled(client: Client) -> None:
    """What is cancelled gets no reply, and its id is free again."""
    await client.say(id=1, method="hang")
    await client.say(method="notifications/cancelled", params={"requestId": 1})
    await client.say(method="notifications/cancelled", params={"requestId": 99})
    await client.say(id=2, method="x")

    assert 2 == (await client.hear())["id"]
    await client.say(id=1, method="x")
    assert {"of": 1} == (await client.hear())["result"]


async def test_errors(client: Client) -> None:
    """A refusal, a fault of ours and a line that is no message are errors, and the connection stays."""
    await client.say(id=1, method="refuse")
    refused = await client.hear()
    await client.say(id=2, method="fail")
    failed = await client.hear()
    await client.send(b"junk")
    junk = await client.hear()

    assert {"code": INVALID_PARAMS, "message": "no"} == refused["error"]
    assert {"code": INTERNAL_ERROR, "message": "LookupError: broken"} == failed["error"]
    assert junk["id"] is None


@pytest.mark.parametrize("number", [[], {}, [1], None, True, 1.5])
async def test_an_id_that_is_none(client: Client, number: Any) -> None:
    """Nothing is cancelled and nothing answered by what is no id, and the connection stays."""
    await client.say(id=1, method="hang")
    await client.say(method="notifications/cancelled", params={"requestId": number})
    await client.say(id=number, result={})
    await client.say(id=number, error={})
    await client.say(id=2, method="x")

    assert 2 == (await client.hear())["id"]
    await client.say(id=1, method="x")
    assert "not answered yet" in (await client.hear())["error"]["message"]
    await client.say(method="notifications/cancelled", params={"requestId": 1})


async def test_an_id_twice(client: Client) -> None:
    """An id that is not answered yet is refused."""
    await client.say(id=1, method="hang")
    await client.say(id=1, method="x")

    assert "not answered yet" in (await client.hear())["error"]["message"]
    await client.say(method="notifications/cancelled", params={"requestId": 1})


async def test_notifications(client: Client) -> None:
    """A notification gets no reply."""
    await client.say(method="notifications/initialized")
    await client.say(id=1, method="x")

    assert 1 == (await client.hear())["id"]
    assert [Notification("notifications/initialized", {})] == client.noted


async def test_a_request_of_ours(client: Client) -> None:
    """The client is asked as well; an answer that nobody asked for is ignored."""
    found: list[Any] = []

    async def ask() -> None:
        found.append(await client.peer.ask("roots/list", {}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        asked = await client.hear()
        await client.say(id="other", result={})
        await client.say(id=asked["id"], result={"roots": []})

    assert "roots/list" == asked["method"]
    assert [{"roots": []}] == found


async def test_what_was_asked_before_the_client_left() -> None:
    """A script that closes its end at once still gets its replies."""
    with closing(Client(_handle)) as client, anyio.fail_after(PATIENCE):
        await client.say(id=1, method="x")
        client.leave()
        await client.peer.run()

        assert {"of": 1} == (await client.hear())["result"]


@pytest.mark.parametrize("error", [BrokenPipeError, OSError])
async def test_a_client_that_reads_no_more(error: type[OSError]) -> None:
    """The end of the client's reading end is the end, and so is a full disk."""

    async def lines() -> AsyncIterator[bytes]:
        yield b'{"id": 1, "method": "x"}'
        await anyio.sleep_forever()

    async def write(_line: bytes) -> None:
        raise error

    with anyio.fail_after(PATIENCE):
        await Peer(lines(), write, _handle, lambda _: None).run()


async def test_a_client_that_asks_and_never_reads() -> None:
    """Replies that are not written yet count as requests that are not answered, so that there are never many."""
    handled = list[Any]()

    async def handle(request: Request) -> dict[str, Any]:
        handled.append(request.id)
        return {}

    async def lines() -> AsyncGenerator[bytes, None]:
        for number in range(200):
            yield json.dumps({"id": number, "method": "x"}).encode()
            while len(handled) <= number:
                await anyio.lowlevel.checkpoint()
        pytest.fail("all was read")

    async def write(_line: bytes) -> None:
        await anyio.sleep_forever()

    async with aclosing(lines()) as read, anyio.create_task_group() as tasks:
        tasks.start_soon(Peer(read, write, handle, lambda _: None).run)
        while len(handled) < 64:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert list(range(64)) == handled
