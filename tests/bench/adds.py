"""Rows about adding: alone, many at once, pipelined, and many messages in one command."""

import csv
import selectors
import socket
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any

from msgpack import Packer

from reel.said.messages import NewMessage
from reel.wire.frames import Response
from reel.wire.session import MessagePack
from reeld.store.checksums import COLUMNS
from reeld.store.schema import prepare
from tests.bench.setting import TEXT, Setting
from tests.bench.table import Line, in_turns, median, timed

_PACK = Packer().pack
_NUMBERS = count()
# As the Python client sends it.
_MESSAGE: NewMessage = {"role": "user", "content": TEXT}


def lone(setting: Setting) -> Iterator[Line]:
    """Measure one durable add after another."""
    client, session = setting.daemon.client(), setting.session("lone")
    client.create("lone")
    bare = sqlite3.connect(setting.new_directory() / "bare.db", isolation_level=None)
    bare.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (a, b);")

    def theirs() -> float:
        async def add() -> float:
            return statistics.median([await _awaited(session.add_items, [_MESSAGE]) for _ in range(60)])  # type: ignore[union-attr]

        return setting.loop.run_until_complete(add())

    ours, other, commit = in_turns(
        10,
        lambda: median(lambda: client.add("lone", _MESSAGE), 60),
        None if session is None else theirs,
        lambda: median(lambda: bare.execute("INSERT INTO t VALUES (1, ?)", (TEXT,)), 60),
    )
    bare.close()
    assert ours is not None
    assert commit is not None
    beside = None if other is None else f"as fast as SQLiteSession ({other * 1e6:.0f} us)"
    yield Line("a durable add, with a key", _us(ours), beside, other and other / ours, ">= 0.85, aim 1.0")
    yield Line("", "", f"the time of a bare commit ({commit * 1e6:.0f} us)", ours / commit)


async def _awaited(call: Callable[[Any], Any], value: Any) -> float:
    began = time.perf_counter()
    await call(value)
    return time.perf_counter() - began


def clients(setting: Setting) -> Iterator[Line]:
    """Measure 64 clients with one request in flight each."""
    yield from _many(setting, 64, 1, 10_000, ">= 0.33, aim 0.5", beside_sessions=True)


def pipelined(setting: Setting) -> Iterator[Line]:
    """Measure 8 clients with 32 requests in flight each."""
    yield from _many(setting, 8, 32, 40_000, ">= 0.35, aim 0.5", beside_sessions=False)


def _many(
    setting: Setting, connections: int, depth: int, total: int, goal: str, *, beside_sessions: bool
) -> Iterator[Line]:
    redis, sessions = setting.redis, [setting.session(f"s{number}") for number in range(16)]
    ours, streams, others = in_turns(
        3,
        lambda: adds_a_second([setting.daemon.socket], connections, depth, total, f"load-{next(_NUMBERS)}"),
        None if redis is None else partial(_xadds, redis, connections, depth, total),
        partial(_session_adds, setting, sessions) if beside_sessions and sessions[0] is not None else None,
    )
    assert ours is not None
    what = f"{connections} clients, {depth} in flight"
    beside = None if streams is None else f"as fast as Redis, always syncing ({streams:,.0f} /s)"
    yield Line(what, f"{ours:,.0f} /s", beside, streams and ours / streams, goal)
    if others is not None:
        yield Line("", "", f"as fast as 16 SQLiteSessions ({others:,.0f} /s)", ours / others, ">= 5, aim 8")


def _session_adds(setting: Setting, sessions: list[Any]) -> float:
    import asyncio  # noqa: PLC0415 - nothing else here needs it

    async def fill(one: Any) -> None:
        for _ in range(60):
            await one.add_items([_MESSAGE])

    async def fill_all() -> None:
        await asyncio.gather(*map(fill, sessions))

    return 60 * len(sessions) / timed(lambda: setting.loop.run_until_complete(fill_all()))


def _xadds(path: str, clients: int, depth: int, total: int) -> float:
    sizes = ["-c", str(clients), "-P", str(depth), "-n", str(total), "-r", "64"]
    command = ["redis-benchmark", "-s", path, *sizes, "--csv", "XADD", "s:__rand_int__", "*", "text", TEXT]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(list(csv.reader(printed.splitlines()))[-1][1])


def bulk(setting: Setting) -> Iterator[Line]:
    """Measure 1,000 messages in one add, beside one ``executemany`` on the same schema."""
    client = setting.daemon.client()
    client.create("bulk")
    path = str(setting.new_directory() / "rows.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("INSERT INTO agents VALUES (1, 'u', 'n', NULL, '{}', NULL, NULL, 0, 0, NULL, 0)")
        blocks, names = count(), ", ".join((*COLUMNS, "checksum"))

        def bare() -> None:
            first = next(blocks) * 1000 + 1
            rows = [(i, i, TEXT, i - 1 or None) for i in range(first, first + 1000)]
            connection.execute("BEGIN")
            connection.executemany(
                f"INSERT INTO events ({names}) VALUES (?, 1, ?, 1, 'user', ?, NULL, ?, NULL, 0, 0)",
                rows,
            )
            connection.execute("COMMIT")

        ours, other = in_turns(12, lambda: timed(lambda: client.add("bulk", [TEXT] * 1000)), lambda: timed(bare))
    assert ours is not None
    assert other is not None
    beside = f"as fast as a bare executemany ({1000 / other:,.0f} /s)"
    yield Line("rows of an add of 1,000", f"{1000 / ours:,.0f} /s", beside, other / ours, ">= 0.55, aim 0.75")


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


def adds_a_second(paths: Sequence[str], connections: int, depth: int, total: int, prefix: str) -> float:
    """Add messages as fast as possible; return the rate per second.

    Args:
        paths: the sockets of the daemons, which share the connections.
        connections: how many; each adds to an agent of its own.
        depth: how many requests each has in flight.
        total: how many messages.
        prefix: what the names of the agents begin with.
    """
    each = total // connections
    selector = selectors.DefaultSelector()
    peers = [_Peer(paths[number % len(paths)], f"{prefix}-{number}", each) for number in range(connections)]
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


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"
