"""A daemon of the test's own, and what real editors need to meet it."""

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from reel.blocking import Client
from reel.errors import NotRunning
from tests.daemon import Daemon, short_directory
from tests.unmeasured import unmeasured  # noqa: F401 - for every test here

Require = Callable[[str], str]


@pytest.fixture(scope="session")
def require() -> Require:
    """Give a program's path; skip where it is missing, or fail where ``$REEL_EDITORS`` is ``required``."""

    def find(program: str) -> str:
        path = shutil.which(program)
        if path is None and os.environ.get("REEL_EDITORS") == "required":
            pytest.fail(f"{program} is not installed, and REEL_EDITORS=required")
        return path or pytest.skip(f"{program} is not installed")

    return find


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory of the test's own whose name is short enough for a socket's path; the daemon's files are in it."""
    with short_directory() as path:
        yield path


@pytest.fixture
def prepared(directory: Path) -> Iterator[Daemon]:
    """A daemon that is not started yet; it is ended with the test."""
    daemon = Daemon(directory)
    yield daemon
    daemon.close()


@pytest.fixture
def daemon(prepared: Daemon) -> Daemon:
    """A daemon that runs."""
    return prepared.start()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client that is connected to the daemon."""
    with daemon.client() as client:
        yield client


@pytest.fixture
def environment(directory: Path, prepared: Daemon) -> Iterator[dict[str, str]]:
    """The environment for an editor: an empty home, the daemon's socket, and the command ``reel`` on the path.

    A daemon that the editor started is ended with the test.
    """
    home = directory / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "REEL_", "LC_"))}
    yield kept | {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "REEL_SOCKET": prepared.socket,
        "REEL_DATABASE": prepared.database,
    }
    with suppress(NotRunning), Client(prepared.socket, patience=0) as client:
        client.shutdown()


@pytest.fixture
def dripping(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket behind which the daemon is, and which passes everything on in pieces of one byte."""
    path = str(directory / "d.sock")
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as opened:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=_accept, args=(listener, daemon.socket, opened))
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listener: socket.socket, target: str, opened: ExitStack) -> None:
    """Connect each that comes to the daemon, until the listener is shut down."""
    with suppress(OSError):
        while True:
            near = opened.enter_context(listener.accept()[0])
            far = opened.enter_context(socket.socket(socket.AF_UNIX))
            far.connect(target)
            for ends in ((near, far), (far, near)):
                thread = threading.Thread(target=_drip, args=ends)
                thread.start()
                opened.callback(_end, near, thread)


def _end(end: socket.socket, thread: threading.Thread) -> None:
    """End a connection, and the thread that serves it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    thread.join()


def _drip(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on one by one, and then the end."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            for byte in data:
                target.sendall(bytes((byte,)))
        target.shutdown(socket.SHUT_WR)
