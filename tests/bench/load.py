"""A load generator: one process, many connections, each with a number of requests in flight."""

import selectors
import socket
import time

from msgpack import Packer

from reel.frames import Response
from reel.session import MessagePack

TEXT = "What is a tape deck, and who still has one? " * 2
_PACK = Packer().pack


class _Peer:
    def __init__(self, path: str, agent: str, requests: int) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self._framing = MessagePack(64 << 20)
        self._agent = agent
        self._left = requests

    def send(self, count: int) -> None:
        count = min(count, self._left)
        self._left -= count
        if count:
            self.socket.sendall(_PACK((0, 1, "add", [self._agent, TEXT, True])) * count)

    def answers(self) -> int:
        frames = self._framing.feed(self.socket.recv(1 << 18))
        for frame in frames:
            if not isinstance(frame, Response) or frame.error is not None:
                raise SystemExit(f"refused: {frame}")
        return len(frames)


def adds_a_second(path: str, connections: int, depth: int, total: int, prefix: str) -> float:
    """Add messages as fast as possible, each connection to its own agent; return the rate per second."""
    each = total // connections
    selector = selectors.DefaultSelector()
    peers = [_Peer(path, f"{prefix}-{number}", each) for number in range(connections)]
    for peer in peers:
        selector.register(peer.socket, selectors.EVENT_READ, peer)
    began = time.perf_counter()
    for peer in peers:
        peer.send(depth)
    left = each * connections
    while left:
        for key, _ in selector.select():
            ready: _Peer = key.data
            done = ready.answers()
            left -= done
            ready.send(done)
    took = time.perf_counter() - began
    for peer in peers:
        peer.socket.close()
    return each * connections / took
