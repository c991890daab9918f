"""A socket in front of a daemon that notes what goes over it."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread

from reel.wire.frames import Request
from reel.wire.session import MessagePack
from tests.daemon import short_directory


class Wire:
    """What clients have asked for.

    Args:
        path: the socket for clients.
        to: the socket of the daemon.
    """

    def __init__(self, path: str, to: str) -> None:
        self.path = path
        self.asked: list[str] = []
        self._to = to
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the end
            while True:
                client, _ = self._listener.accept()
                daemon = socket.socket(socket.AF_UNIX)
                daemon.connect(self._to)
                for ends in ((client, daemon, True), (daemon, client, False)):
                    self._threads.append(Thread(target=self._copy, args=ends))
                    self._threads[-1].start()

    def _copy(self, come: socket.socket, go: socket.socket, notes: bool) -> None:
        framing = MessagePack(64 << 20)
        with come, suppress(OSError):
            while data := come.recv(1 << 16):
                if notes:
                    self.asked += [frame.method for frame in framing.feed(data) if isinstance(frame, Request)]
                go.sendall(data)
            go.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept no more, and wait until the clients have gone."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


@contextmanager
def wire_to(daemon: str) -> Iterator[Wire]:
    """Yield a wire to the daemon on a socket; leave the block after all clients are closed."""
    with ExitStack() as stack:
        directory: Path = stack.enter_context(short_directory())
        wire = Wire(str(directory / "wire.sock"), daemon)
        stack.callback(wire.close)
        yield wire
