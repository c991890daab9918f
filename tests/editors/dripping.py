"""Connections to the daemon that deliver single bytes, or pause in the middle of a message."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.daemon import Daemon


@pytest.fixture
def dripping(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket in front of the daemon that forwards everything in single bytes."""
    with _line(directory, daemon, 1, 0) as path:
        yield path


@pytest.fixture
def halting(directory: Path, daemon: Daemon) -> Iterator[str]:
    """The path of a socket in front of the daemon that pauses after every 200 bytes."""
    with _line(directory, daemon, 200, 0.2) as path:
        yield path


@contextmanager
def _line(directory: Path, daemon: Daemon, size: int, pause: float) -> Iterator[str]:
    """Forward everything in pieces of a size, with a pause after each, in seconds."""
    path = str(directory / "d.sock")
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as opened:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=_accept, args=(listener, daemon.socket, opened, size, pause))
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listener: socket.socket, target: str, opened: ExitStack, size: int, pause: float) -> None:
    """Connect each client to the daemon, until the listener is shut down."""
    with suppress(OSError):
        while True:
            near = opened.enter_context(listener.accept()[0])
            far = opened.enter_context(socket.socket(socket.AF_UNIX))
            far.connect(target)
            for ends in ((near, far), (far, near)):
                thread = threading.Thread(target=partial(_drip, *ends, size, pause))
                thread.start()
                opened.callback(_end, near, thread)


def _end(end: socket.socket, thread: threading.Thread) -> None:
    """End a connection, and the thread that serves it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    thread.join()


def _drip(source: socket.socket, target: socket.socket, size: int, pause: float) -> None:
    """Forward bytes in pieces, and then the end."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            for start in range(0, len(data), size):
                target.sendall(data[start : start + size])
                time.sleep(pause)  # what a slow sender does
        target.shutdown(socket.SHUT_WR)
