"""Pipelined requests, as editors send them."""

import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from reel.wire.frames import Response
from reel.wire.session import MessagePack
from tests.patience import PATIENCE


class Pipeline:
    """A connection that sends requests and receives replies independently; requests are numbered from 1."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self._framing = MessagePack(64 << 20)
        self._sent = 0
        self.answers: dict[int, Response] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, calls: Iterable[tuple[Any, ...]]) -> None:
        """Send calls in one write."""
        data = b""
        for method, *params in calls:
            self._sent += 1
            data += self._framing.request(self._sent, method, params)
        self.socket.sendall(data)

    def receive(self, count: int | None = None) -> None:
        """Receive replies until there are so many, or until the connection ends."""
        while count is None or len(self.answers) < count:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return
            if not data:
                return
            for frame in self._framing.feed(data):
                assert isinstance(frame, Response)
                assert isinstance(frame.id, int)
                self.answers[frame.id] = frame
