"""What the async client does beyond the blocking one."""

import asyncio
import signal
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketListener, SocketStream
from trio.testing import MockClock

import reel
from reel.aio import Client
from reel.base.errors import ReelError
from reel.wire.frames import Request
from reeld.wire.msgpack_framing import ServerMessagePack
from tests import daemon_fixtures
from tests.daemon import Daemon
from tests.patience import PATIENCE
from tests.reel.blocking.scripted_daemon import HELLO

pytestmark = pytest.mark.slow

# The replies on one connection; ``None`` hangs up.
_Part: TypeAlias = bytes | ReelError | dict[str, Any] | None
PONG = {"pong": True}

# Each test has its own, as some end it.
daemon = daemon_fixtures.daemon


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    """A connected client, with a time limit for the test."""
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket) as client:
            yield client


async def test_the_async_client_makes_many_calls_at_once(client: Client) -> None:
    """A hundred tasks share a connection, and each gets its own reply."""
    await client.create("demo")
    heads: list[int] = []

    async def add() -> None:
        heads.append((await client.add("demo", "hi")).head)

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(add)

    assert list(range(2, 102)) == sorted(heads)


async def test_a_cancelled_call_harms_nobody(client: Client) -> None:
    """A cancelled call leaves the connection usable, for calls of any size."""
    await client.create("demo")
    for size in (1, 4_000_000):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await client.add("demo", "x" * size)

    assert await client.ping()


async def test_what_cannot_be_sent(client: Client, daemon: Daemon) -> None:
    """A value that no message can hold fails only its own call, also while there is no connection."""
    await anyio.to_thread.run_sync(daemon.kill)
    while client._connected:
        await anyio.lowlevel.checkpoint()
    with pytest.raises(TypeError):
        await client.change("demo", tags={"a": object()})  # type: ignore[dict-item]
    await anyio.to_thread.run_sync(daemon.start)

    assert await client.ping()


async def test_calls_in_flight_survive_a_crash(client: Client, daemon: Daemon) -> None:
    """A call without a reply when the daemon died is repeated, and executed once."""
    await client.create("demo")

    async def add(number: int) -> None:
        await client.add("demo", str(number))

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(add, number)
        await anyio.lowlevel.checkpoint()
        daemon.kill()
        await anyio.to_thread.run_sync(daemon.start)

    texts = [message["content"][0]["text"] async for message in client.iter_messages("demo")]  # type: ignore[typeddict-item]
    assert sorted(map(str, range(200))) == sorted(texts)


def test_a_client_that_is_awaited(daemon: Daemon) -> None:
    """As in a notebook, a client works from one run of the event loop to the next, until it is closed."""

    async def cell(awaitable: Awaitable[Any]) -> Any:
        return await awaitable

    with asyncio.Runner() as notebook:
        client = notebook.run(cell(reel.aio.connect(daemon.socket)))
        assert notebook.run(cell(client.ping()))
        daemon.kill()
        daemon.start()
        assert "demo" == notebook.run(cell(client.create("demo"))).name
        assert f"<reel.aio.Client of {daemon.socket}, connected>" == repr(client)
        notebook.run(client.close())
        with pytest.raises(reel.NotRunning, match="this client was closed"):
            notebook.run(cell(client.ping()))


def test_an_awaited_client_is_closed_by_a_block(daemon: Daemon) -> None:
    """A block around an awaited client closes it; a daemon that does not answer is reported at once."""

    async def connect() -> Client:
        async with await reel.aio.connect(daemon.socket) as client:
            assert await client.ping()
        with pytest.raises(reel.NotRunning):
            await reel.aio.connect(f"{daemon.socket}.none")
        return client

    assert asyncio.run(connect())._closed


async def test_a_client_cannot_be_awaited_on_trio(daemon: Daemon) -> None:
    """On trio the error says what to write."""
    with pytest.raises(RuntimeError, match="use: async with connect"):
        await reel.aio.connect(daemon.socket)


async def test_the_async_client_gives_up_reconnecting(daemon: Daemon) -> None:
    """If the daemon does not come back, calls say so; a later daemon is found."""
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket, patience=0.05) as client:  # it is reached
            daemon.end(signal.SIGTERM)
            with pytest.raises(reel.NotRunning):
                await client.ping()
            client._patience = PATIENCE
            daemon.start()

            assert await client.ping()


async def test_a_daemon_that_hangs_up_on_a_call(
    tmp_path: Path,
    autojump_clock: MockClock,  # noqa: ARG001 - pytest-trio takes a clock from a test's own parameters
) -> None:
    """A call on which the daemon hangs up each time fails after the time for reconnecting; the client still works."""
    path = str(tmp_path / "s")
    async with anyio.create_task_group() as tasks:
        seen: list[Request] = []
        # Fifty connections would take longer, and without a pause between them no time at all.
        tasks.start_soon(_answer, await anyio.create_unix_listener(path), [None] * 50, seen)
        async with reel.aio.connect(path, patience=2.0) as client:  # of the virtual clock
            began = anyio.current_time()
            with pytest.raises(reel.NotRunning, match="went away"):
                await client.ping()

            assert 2.0 <= anyio.current_time() - began < 3.0
            assert 4 < len(seen) < 12
        tasks.cancel_scope.cancel()


async def test_the_async_client_without_patience(tmp_path: Path) -> None:
    """Without time for reconnecting, a lost call fails at once, and the next one connects again."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_answer, await anyio.create_unix_listener(path), [None, PONG])
            async with reel.aio.connect(path, patience=0.0) as client:
                with pytest.raises(reel.NotRunning):
                    await client.ping()

                assert await client.ping()


async def test_the_async_client_finds_a_daemon_that_is_stopping(tmp_path: Path) -> None:
    """A daemon that is stopping when the client reconnects is waited for like one that is gone."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as tasks:

            async def play() -> None:
                await _answer_one(listener, None)
                async with await listener.accept() as stream:
                    framing = ServerMessagePack(error_maps=True)
                    greeting = await _request(stream, framing)
                    await stream.send(framing.refuse(greeting.id, reel.ShuttingDown("it ends")))
                await _answer_one(listener, PONG)

            tasks.start_soon(play)
            async with reel.aio.connect(path) as client:
                assert await client.ping()


async def test_more_calls_than_the_daemon_accepts_at_once(client: Client) -> None:
    """Calls beyond the limit of a connection wait for others to be answered; so do those after cancelled ones."""
    await client.create("demo")

    async def add(text: str) -> None:
        await client.add("demo", text)

    async with anyio.create_task_group() as tasks:
        for _ in range(1000):
            tasks.start_soon(add, "hi")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    async with anyio.create_task_group() as tasks:
        for _ in range(1000):
            tasks.start_soon(add, "ho")

    assert {"ho"} == {
        message["content"][0]["text"]  # type: ignore[typeddict-item]
        for message in (await client.messages("demo", last=1000)).messages
    }


async def test_long_waits_are_no_calls_in_flight(client: Client, daemon: Daemon) -> None:
    """After a restart, a wait for something to happen does not hold up the call that makes it happen."""
    head = (await client.create("demo")).head

    async def wait() -> None:
        await client.wait("demo", head, timeout=3_600_000)  # longer than any test

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        daemon.kill()
        daemon.start()
        await client.add("demo", "hi")


async def test_large_replies_at_once(daemon: Daemon) -> None:
    """Thirty tasks read replies of four megabytes at once, more than the daemon keeps for one connection."""
    read: list[int] = []

    async def read_all(client: Client) -> None:
        read.append(len((await client.messages("demo")).messages))

    # The daemon hangs up several times. On a busy machine that takes longer than a client usually is patient.
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket, patience=PATIENCE) as client:
            await client.add("demo", "x" * (4 << 20), create=True)
            async with anyio.create_task_group() as tasks:
                for _ in range(30):
                    tasks.start_soon(read_all, client)

    assert [1] * 30 == read


async def test_no_large_call_stays_in_memory(client: Client) -> None:
    """When a large request has been answered and a large reply been read, the client keeps neither."""
    await client.ping()
    tracemalloc.start()
    try:
        await client.add("demo", "x" * (4 << 20), create=True)
        await anyio.wait_all_tasks_blocked()
        after_request, _ = tracemalloc.get_traced_memory()
        await client.messages("demo")
        await anyio.wait_all_tasks_blocked()
        after_reply, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert max(after_request, after_reply) < 1 << 20


async def test_the_async_client_stops_the_daemon(client: Client, daemon: Daemon) -> None:
    """After a shutdown the daemon has ended."""
    await client.shutdown()

    assert 0 == daemon.process.wait(PATIENCE)


async def test_whose_error_it_is(daemon: Daemon) -> None:
    """An error raised in the block comes out unchanged, not in a group."""
    with anyio.fail_after(PATIENCE), pytest.raises(KeyError):
        async with reel.aio.connect(daemon.socket):
            raise KeyError("mine")


async def test_a_daemon_that_hangs_up(tmp_path: Path) -> None:
    """A daemon that does not answer the greeting counts as not running."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as tasks:

            async def hang_up() -> None:
                await (await listener.accept()).aclose()

            tasks.start_soon(hang_up)
            with pytest.raises(reel.NotRunning, match="hung up"):
                async with reel.aio.connect(path):
                    pass


async def test_the_async_client_reports_what_is_not_a_reply(tmp_path: Path) -> None:
    """Bytes that are not a message fail the waiting calls, and the next call works."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as tasks:
            parts: list[_Part] = [b"\xc1", PONG]
            tasks.start_soon(_answer, listener, parts)
            async with reel.aio.connect(path) as client:
                with pytest.raises(reel.ParseError, match="is not a reply"):
                    await client.ping()

                assert await client.ping()


async def test_the_async_client_stops_waiting(daemon: Daemon) -> None:
    """A call that takes too long raises an error, which says that it may still be executed; others share its client."""
    async with reel.aio.connect(daemon.socket, timeout=PATIENCE) as client:
        made = await client.create("demo")
        client._limit.seconds = 0.2  # it is reached
        with pytest.raises(reel.Timeout, match=r"wait took longer than 0.2 s; it may still be carried out"):
            await client.wait("demo", made.head)
        client._limit.seconds = PATIENCE

        assert await client.ping()


async def test_the_async_client_waits_for_no_greeting(tmp_path: Path) -> None:
    """Connecting has the same limit as a call, if what listens there never answers."""
    path = str(tmp_path / "s")
    async with await anyio.create_unix_listener(path):
        with anyio.fail_after(PATIENCE), pytest.raises(reel.Timeout, match=r"did not answer within 0.2 s$"):
            await reel.aio.connect(path, timeout=0.2).__aenter__()  # it is reached


async def test_the_async_client_waits_for_no_subscription(tmp_path: Path) -> None:
    """Subscribing has the same limit as a call."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as tasks:

            async def greet_once() -> None:
                stream, framing = await listener.accept(), ServerMessagePack(error_maps=True)
                await stream.send(framing.answer((await _request(stream, framing)).id, HELLO))
                async with stream, await listener.accept():
                    await anyio.sleep_forever()

            tasks.start_soon(greet_once)
            async with reel.aio.connect(path, timeout=PATIENCE) as client:
                client._limit.seconds = 0.2  # it is reached
                with pytest.raises(reel.Timeout, match=r"subscribe took longer than 0.2 s$"):
                    await client.subscribe("demo").__aenter__()
            tasks.cancel_scope.cancel()


async def test_a_command_is_asked_again_under_its_key(tmp_path: Path) -> None:
    """A command without a reply, or refused by a daemon about to stop, is repeated under its key."""
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as tasks:
            seen: list[Request] = []
            moved = {"agent": "a1", "head": 2, "command": 2, "time": 1, "was": 1}
            tasks.start_soon(_answer, listener, [None, reel.ShuttingDown("it ends"), moved], seen)
            async with reel.aio.connect(path) as client:
                assert 2 == (await client.clear("demo")).head

    assert 3 == len(seen)
    assert 1 == len({request.params[0]["key"] for request in seen})


async def test_a_shutdown_without_a_reply_starts_no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shutdown whose connection ends was executed, and no daemon is started to repeat it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = str(tmp_path / "s")
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            listener = await anyio.create_unix_listener(path)
            tasks.start_soon(_answer, listener, [None])
            async with reel.aio.connect(path, autostart=True) as client:
                await client.shutdown()
                await anyio.wait_all_tasks_blocked()

    assert not (tmp_path / "reel" / "reeld.log").exists()


async def _answer(
    listener: SocketListener,
    parts: Sequence[bytes | ReelError | dict[str, Any] | None],
    seen: list[Request] | None = None,
) -> None:
    """Play a daemon for as many connections: greet, send this reply or none, and hang up."""
    async with listener:
        for part in parts:
            request = await _answer_one(listener, part)
            if seen is not None:
                seen.append(request)


async def _answer_one(listener: SocketListener, part: _Part) -> Request:
    async with await listener.accept() as stream:
        framing = ServerMessagePack(error_maps=True)
        await stream.send(framing.answer((await _request(stream, framing)).id, HELLO))
        request = await _request(stream, framing)
        if isinstance(part, dict):
            await stream.send(framing.answer(request.id, part))
        elif isinstance(part, ReelError):
            await stream.send(framing.refuse(request.id, part))
        elif part is not None:
            await stream.send(part)
        return request


async def _request(stream: SocketStream, framing: ServerMessagePack) -> Request:
    (request,) = framing.feed(await stream.receive())
    assert isinstance(request, Request)
    return request
