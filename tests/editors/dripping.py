"""Connections to the daemon that deliver single bytes, pause in the middle of a message, break, or are older."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.daemon import Daemon

BREAKS = b"break the connection"


@pytest.fixture
def dripping(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket in front of the daemon that forwards everything in single bytes."""
    with _line(directory, daemon, partial(_drip, 1, 0)) as path:
        yield path


@pytest.fixture
def halting(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket in front of the daemon that pauses after every 200 bytes."""
    with _line(directory, daemon, partial(_drip, 200, 0.2)) as path:
        yield path


@pytest.fixture
def breaking(directory: Path, daemon: Daemon) -> Iterator[tuple[str, list[bytes]]]:
    """The path of a socket in front of the daemon where a message with BREAKS breaks the connection, and what broke."""
    broken: list[bytes] = []
    with _line(directory, daemon, partial(_break, broken)) as path:
        yield path, broken


@pytest.fixture
def older(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket in front of the daemon that looks like one which does not know facts."""
    with _line(directory, daemon, _rename_facts) as path:
        yield path


Forward = Callable[[socket.socket, socket.socket], None]


@contextmanager
def _line(directory: Path, daemon: Daemon, forward: Forward) -> Iterator[str]:
    """Forward everything with a function, which runs for each direction of a connection."""
    path = str(directory / "d.sock")
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as opened:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=_accept, args=(listener, daemon.socket, opened, forward))
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listener: socket.socket, target: str, opened: ExitStack, forward: Forward) -> None:
    """Connect each client to the daemon, until the listener is shut down."""
    with suppress(OSError):
        while True:
            near = opened.enter_context(listener.accept()[0])
            far = opened.enter_context(socket.socket(socket.AF_UNIX))
            far.connect(target)
            for ends in ((near, far), (far, near)):
                thread = threading.Thread(target=forward, args=ends)
                thread.start()
                opened.callback(_end, near, thread)


def _end(end: socket.socket, thread: threading.Thread) -> None:
    """End a connection, and the thread that serves it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    thread.join()


def _drip(size: int, pause: float, source: socket.socket, target: socket.socket) -> None:
    """Forward bytes in pieces of a size, with a pause after each, in seconds, and then the end."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            for start in range(0, len(data), size):
                target.sendall(data[start : start + size])
                time.sleep(pause)  # what a slow sender does
        target.shutdown(socket.SHUT_WR)


def _break(broken: list[bytes], source: socket.socket, target: socket.socket) -> None:
    """Forward everything until a message that breaks the connection."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            if BREAKS in data:
                broken.append(data)
                break
            target.sendall(data)
        for end in (source, target):
            end.shutdown(socket.SHUT_RDWR)


def _rename_facts(source: socket.socket, target: socket.socket) -> None:
    """Forward everything, with another word for facts."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data.replace(b"facts", b"seems"))
        target.shutdown(socket.SHUT_WR)
