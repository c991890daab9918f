"""The socket in the file system, and which processes may connect to it."""

import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.stapled import StapledByteStream
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import from_wire
from reel.daemon import peer
from reel.daemon.address import MAX_PATH
from reel.wire.frames import Notification, Response
from reeld.serving.call import Services
from reeld.serving.listener import PathListener, open_listener, require_path
from reeld.serving.server import Server, is_trusted_peer
from reeld.startup import StartupError
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.daemon import full_listener, short_directory
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Blocker


@pytest.fixture
def path() -> Iterator[str]:
    """A path for a socket, in a directory that does not exist yet."""
    with short_directory() as directory:
        yield str(directory / "reel" / "s.sock")


@pytest.fixture
async def opened(path: str) -> AsyncIterator[PathListener]:
    """A listening socket."""
    async with open_listener(path) as opened:
        yield opened


def is_socket(path: str) -> bool:
    """Return whether there is a socket at a path."""
    return Path(path).is_socket()


def occupy(place: Path, what: str) -> None:
    """Put something that is not a socket at a path."""
    place.parent.mkdir()
    if what == "file":
        place.write_text("precious")
    elif what == "directory":
        place.mkdir()
    else:
        place.symlink_to(place.with_name("target"))
    if what == "link":
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(place.with_name("target")))


async def refused(path: str) -> str:
    """Return the error with which a path is refused."""
    with pytest.raises(StartupError) as caught:
        async with open_listener(path):
            pass
    return str(caught.value)


async def ping(stream: SocketStream) -> Response:
    """Send a ping and return the answer."""
    framing = ServerMessagePack()
    await stream.send(framing.request(1, "ping", []))
    (frame,) = framing.feed(await stream.receive())
    assert isinstance(frame, Response)
    return frame


async def test_modes_of_the_socket_and_its_directory(path: str) -> None:
    """Only the owner can use the socket and its directory."""
    with anyio.fail_after(PATIENCE):
        async with open_listener(path):
            assert 0o600 == stat.S_IMODE(os.lstat(path).st_mode)
            assert 0o700 == stat.S_IMODE(os.lstat(Path(path).parent).st_mode)


async def test_it_is_removed_at_the_end(path: str) -> None:
    """A closed listener leaves no socket behind."""
    with anyio.fail_after(PATIENCE):
        async with open_listener(path):
            assert is_socket(path)

    assert not is_socket(path)


async def test_stale_socket_is_replaced(path: str) -> None:
    """A socket without a listener, left over from a crash, is replaced."""
    Path(path).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(path)
    with anyio.fail_after(PATIENCE):
        async with open_listener(path) as opened, await anyio.connect_unix(path), await opened.accept():
            pass


async def test_live_socket_is_refused(path: str) -> None:
    """A socket with a listener is refused."""
    with anyio.fail_after(PATIENCE):
        async with open_listener(path):
            assert (await refused(path)).startswith(f"another program answers on {path}; ")
            assert is_socket(path)


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
async def test_live_socket_of_another_kind_is_refused(path: str, kind: socket.SocketKind) -> None:
    """A datagram or seqpacket socket that a program has open is refused and left alone."""
    Path(path).parent.mkdir()
    with anyio.fail_after(PATIENCE), socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(path)
        assert (await refused(path)).startswith(f"another program has a socket of another kind at {path}; ")
        assert is_socket(path)


async def test_busy_listener_is_refused(path: str) -> None:
    """A listener whose queue is full is alive, and the daemon does not wait until there is room."""
    Path(path).parent.mkdir()
    with anyio.fail_after(PATIENCE), full_listener(path):
        assert (await refused(path)).startswith(f"another program answers on {path}; ")
        assert is_socket(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
async def test_stale_socket_of_another_user_is_refused(path: str) -> None:
    """A socket that another user has left over is not removed, even by root."""
    Path(path).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(path)
    os.chown(path, 4242, -1)
    with anyio.fail_after(PATIENCE):
        assert (await refused(path)).startswith(f"{path} belongs to another user (uid 4242); ")
        assert is_socket(path)


async def test_directory_that_takes_no_socket(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale socket that cannot be removed is an error with the reason."""
    Path(path).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(path)

    def not_permitted(path: str) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    monkeypatch.setattr(os, "unlink", not_permitted)  # root, who runs the tests, may do all that modes forbid
    with anyio.fail_after(PATIENCE):
        assert (await refused(path)).startswith(f"cannot make the socket {path}: Operation not permitted; ")


@pytest.mark.parametrize("what", ["file", "directory", "link", "dangling"])
async def test_only_sockets_are_removed(path: str, what: str) -> None:
    """Anything else at the path is never removed, nor is a symlink to a stale socket."""
    occupy(Path(path), what)
    before = os.lstat(path)

    with anyio.fail_after(PATIENCE):
        assert (await refused(path)).startswith(f"{path} exists and is not a socket; ")
    assert os.lstat(path).st_ino == before.st_ino


def test_length_of_a_path() -> None:
    """The kernel takes 107 bytes; a longer path is refused with the remedy, counted in bytes."""
    require_path("/" + "x" * (MAX_PATH - 1), "")
    with pytest.raises(StartupError) as caught:
        require_path("/" + "x" * 105 + "ä", "")

    assert (
        "the socket's path has 108 bytes, more than the limit of 107; choose a shorter one with --socket or REEL_SOCKET"
        == str(caught.value)
    )


@pytest.mark.parametrize("what", ["open to others", "file", "link", "another's"])
def test_the_directory_under_tmp_must_be_ours(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In /tmp others may make our directory first: it is used only if it belongs to us and nobody else can enter it."""
    directory = tmp_path / "reel"
    require_path(f"{directory}/s.sock", str(directory))
    if what == "link":
        directory.rename(tmp_path / "elsewhere")
        directory.symlink_to(tmp_path / "elsewhere")
    elif what == "file":
        directory.rmdir()
        directory.write_text("")
    elif what == "another's":
        monkeypatch.setattr(os, "getuid", lambda: 4242)
    else:
        directory.chmod(0o755)

    with pytest.raises(StartupError, match=str(directory)):
        require_path(f"{directory}/s.sock", str(directory))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("linked", [False, True])
def test_a_directory_of_another_user_is_refused(tmp_path: Path, linked: bool) -> None:
    """Who owns the directory could put another socket there, so only our own and root's are used."""
    directory = tmp_path / "theirs"
    directory.mkdir()
    os.chown(directory, 4242, -1)
    named = tmp_path / "link" if linked else directory
    if linked:
        named.symlink_to(directory)

    with pytest.raises(StartupError, match=rf"{named} belongs to another user \(uid 4242\)"):
        require_path(f"{named}/s.sock", "")


async def test_longest_path() -> None:
    """A path of 107 bytes works."""
    with anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(directory / "x").ljust(MAX_PATH, "x")
        async with open_listener(path) as opened, await anyio.connect_unix(path), await opened.accept():
            assert 107 == len(path)


async def test_why_a_socket_is_not_made_again_is_logged_once(
    path: str, opened: PathListener, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried twice a second; once it is possible, the socket is there, and the next reason is logged again."""
    directory = Path(path).parent
    for _ in range(2):
        rmtree(directory)
        directory.touch()
        await opened.renew()
        await opened.renew()
        directory.unlink()
        await opened.renew()
        assert is_socket(path)

    said = [record.message.partition(f"{path} ")[2].partition(":")[0] for record in caplog.records]
    assert ["is gone, and cannot be made again", "was gone, and was made again"] * 2 == said


async def test_serving_until_closed(path: str, opened: PathListener, services: Services) -> None:
    """A server serves until it is closed, counts its connections, and ends them all."""
    server = Server()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run, [opened], services)
            async with await anyio.connect_unix(path) as first, await anyio.connect_unix(path) as second:
                assert {"pong": True} == (await ping(first)).result == (await ping(second)).result
                assert 2 == server.counters()["connections"]
                await server.close()
                with pytest.raises(anyio.EndOfStream):
                    await first.receive()

    assert 0 == server.counters()["connections"]


async def test_closing_answers_what_is_in_flight(
    path: str, opened: PathListener, services: Services, blocker: Blocker
) -> None:
    """A closed server answers requests in flight, refuses later ones, and takes no new connection."""
    server, framing = Server(), ServerMessagePack()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run, [opened], services)
            async with await anyio.connect_unix(path) as stream:
                await stream.send(framing.request(2, "wait_for_it", []))
                await blocker.entered.wait()
                tasks.start_soon(server.close)
                await wait_all_tasks_blocked()
                with pytest.raises(OSError, match="refused"):
                    await anyio.connect_unix(path)
                assert str(from_wire((await ping(stream)).error)).startswith("shutting_down: ")
                blocker.released.set()
                assert [Response(2, None, {})] == list(framing.feed(await stream.receive()))


async def test_bye_beside_one_that_does_not_read(
    path: str, opened: PathListener, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subscribers get ``bye`` when the daemon stops, although another peer does not read its answers."""
    monkeypatch.setattr("reeld.serving.server._GRACE", PATIENCE)
    server, framing = Server(), ServerMessagePack()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run, [opened], services)
            async with await anyio.connect_unix(path) as deaf, await anyio.connect_unix(path) as well:
                await deaf.send(framing.request(1, "add", ["demo", "x" * 4_000_000, True]))
                await deaf.receive()
                for stream in (deaf, well):
                    await stream.send(framing.request(2, "subscribe", []))
                    await stream.receive()
                await deaf.send(framing.request(3, "messages", ["demo"]) * 2)
                await wait_all_tasks_blocked()
                tasks.start_soon(server.close)
                (said,) = framing.feed(await well.receive())

    assert Notification("bye", [{"reason": "the daemon stops"}], said.size) == said  # type: ignore[union-attr]


class _FailingSocket:
    """A socket with a bug in what receives."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def recv(self, size: int) -> bytes:  # noqa: ARG002 - a socket has it
        raise RuntimeError("a bug")


class _FailingStream(StapledByteStream):
    """A stream that shows such a socket."""

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        attributes = super().extra_attributes
        raw = attributes[SocketAttribute.raw_socket]
        return {**attributes, SocketAttribute.raw_socket: lambda: _FailingSocket(raw())}


class _FailingListener:
    """A listener whose second connection fails when it is read."""

    def __init__(self, listener: PathListener) -> None:
        self.aclose = listener.aclose
        self._listener = listener
        self._accepted = 0

    async def accept(self) -> ByteStream:
        stream: ByteStream = await self._listener.accept()
        self._accepted += 1
        return _FailingStream(stream, stream) if self._accepted == 2 else stream


async def test_connection_that_fails(
    path: str, opened: PathListener, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug in one connection ends that one and is logged; the others go on."""
    server = Server()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run, [_FailingListener(opened)], services)
            async with await anyio.connect_unix(path) as other:
                await ping(other)
                async with await anyio.connect_unix(path) as unlucky:
                    await unlucky.send(b"{")
                    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                        await unlucky.receive()
                assert {"pong": True} == (await ping(other)).result
            await server.close()

    assert ["connection=2 failed"] == [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]


async def test_our_own_processes_may_connect() -> None:
    """Processes of our own user and root's may connect."""
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert is_trusted_peer(here)


async def test_another_users_process_may_not_connect(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another user's process is refused, whatever the file's mode is."""
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there, monkeypatch.context() as patch:
        # A process of another user needs root to start.
        patch.setattr(peer, "_CREDENTIALS", _Stranger)
        assert not is_trusted_peer(here)

    assert ["refused a connection of uid 4242"] == caplog.messages


class _Stranger:
    """The kernel's answer about a process of another user."""

    size = 12

    @staticmethod
    def unpack(_: bytes) -> tuple[int, int, int]:
        return 1, 4242, 4242
