"""A daemon that misbehaves as a test wants: a listening socket, and a list of what each connection to it does."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from reel.base.errors import ReelError
from reel.wire.frames import Request
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.patience import PATIENCE

HELLO = {
    "server": {"name": "reeld", "version": "0", "pid": 1},
    "protocol": 1,
    "framing": "msgpack-rpc",
    "connection": 1,
    "features": [],
    "limits": {},
}


class Line:
    """The daemon's end of one scripted connection."""

    def __init__(self, connection: socket.socket, seen: list[Request]) -> None:
        self.socket = connection
        self.framing = ServerMessagePack(64 << 20, error_maps=True)
        self._seen = seen
        self._waiting: list[Request] = []

    def take(self) -> Request:
        """Wait for a request."""
        while not self._waiting:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._waiting += [frame for frame in self.framing.feed(data) if isinstance(frame, Request)]
        self._seen.append(self._waiting[0])
        return self._waiting.pop(0)

    def answer(self, *results: dict[str, Any]) -> "Line":
        """Answer requests, one after the other."""
        for result in results:
            self.socket.sendall(self.framing.answer(self.take().id, result))
        return self

    def refuse(self, error: ReelError) -> None:
        """Answer a request with an error."""
        self.socket.sendall(self.framing.refuse(self.take().id, error))

    def wait(self) -> None:
        """Send nothing until the client has gone."""
        while self.socket.recv(1 << 16):
            pass


Part: TypeAlias = Callable[[Line], object]


def lose(line: Line) -> None:
    """Greet, take a request, and hang up."""
    line.answer(HELLO)
    line.take()


class Script:
    """A daemon that follows a script."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.seen: list[Request] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread: threading.Thread | None = None

    def play(self, *parts: Part) -> None:
        """Accept as many connections as there are parts, each played by its part."""
        self._thread = threading.Thread(target=self._play, args=(parts,))
        self._thread.start()

    def _play(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            connection, _ = self._listener.accept()
            with connection:
                connection.settimeout(PATIENCE)
                try:
                    part(Line(connection, self.seen))
                except (EOFError, OSError):
                    continue

    def close(self) -> None:
        """Wait for the end of the script."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), "a part is waiting for its connection"
        self._listener.close()


def greeting_and(*results: dict[str, Any]) -> Part:
    """Greet, reply, and hang up when the client does."""

    def part(line: Line) -> None:
        line.answer(HELLO, *results)
        line.wait()

    return part
