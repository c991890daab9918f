"""A line to the daemon that brings single bytes."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.daemon import Daemon


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
