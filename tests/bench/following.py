"""Followers: the latency of a push after its commit, and the cost for writers."""

import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reel.frames import Notification, Response
from reel.session import MessagePack
from tests.bench.load import TEXT

_CHUNK = 1 << 18


def _subscribed(path: str, agent: str) -> tuple[socket.socket, MessagePack]:
    """Subscribe to an agent on a connection of its own."""
    connection, framing = socket.socket(socket.AF_UNIX), MessagePack(64 << 20)
    connection.connect(path)
    connection.sendall(framing.request(1, "subscribe", [agent]))
    while not any(isinstance(frame, Response) for frame in framing.feed(connection.recv(_CHUNK))):
        pass
    return connection, framing


@contextmanager
def followers(path: str, agent: str, awake: int, asleep: int = 0) -> Iterator[None]:
    """Subscribe clients to an agent; some read, some never do."""
    connections = [_subscribed(path, agent)[0] for _ in range(awake + asleep)]
    selector, over = selectors.DefaultSelector(), threading.Event()
    for connection in connections[:awake]:
        selector.register(connection, selectors.EVENT_READ)

    def read() -> None:
        while not over.is_set():
            for key, _ in selector.select(0.05):
                key.fileobj.recv(_CHUNK)  # type: ignore[union-attr]

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()
        for connection in connections:
            connection.close()


def push_delays(path: str, agent: str, rate: int, seconds: float) -> tuple[list[float], list[float]]:
    """Add at a rate on one connection and follow on another; give the seconds until each push and until each answer.

    Both are counted from when the add was due, so that what waits behind something slow counts as slow.
    """
    follower, heard = _subscribed(path, agent)
    writer, framing = socket.socket(socket.AF_UNIX), MessagePack(64 << 20)
    writer.connect(path)
    total = int(rate * seconds)
    pushed: list[float] = []
    answered: list[float] = []

    def listen(connection: socket.socket, wire: MessagePack, kind: type, times: list[float]) -> None:
        while len(times) < total:
            frames = wire.feed(connection.recv(_CHUNK))
            times += [time.perf_counter()] * sum(isinstance(frame, kind) for frame in frames)

    threads = [
        threading.Thread(target=listen, args=(follower, heard, Notification, pushed)),
        threading.Thread(target=listen, args=(writer, framing, Response, answered)),
    ]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    request = framing.request(1, "add", [agent, TEXT])
    for number in range(total):
        time.sleep(max(0.0, began + number / rate - time.perf_counter()))  # the pace of the load, not a wait
        writer.sendall(request)
    for thread in threads:
        thread.join()
    for connection in (follower, writer):
        connection.close()
    due = [began + number / rate for number in range(total)]
    return [a - b for a, b in zip(pushed, due, strict=True)], [a - b for a, b in zip(answered, due, strict=True)]
