"""The same load on comparable programs: openai-agents' SQLiteSession, and Redis that syncs each write.

Neither keeps what a conversation is made of; both are what people use to keep one. One that is not installed is left
out: ``pip install '.[bench]'`` has the first, a package ``redis-server`` the second.
"""

import asyncio
import csv
import shutil
import statistics
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_ROUNDS = 500
_SESSIONS = 16
_EACH = 250


class Sessions(NamedTuple):
    """SQLiteSession's figures: seconds of one add, adds per second of 16 sessions, seconds of 10,000 items."""

    add: float
    adds: float
    items: float


class Streams(NamedTuple):
    """Adds a second to streams of Redis: 64 clients with one in flight, 8 with 32."""

    single: float
    pipelined: float


def sqlite_sessions(directory: Path, text: str) -> Sessions | None:
    """Measure openai-agents' sessions in one file; return ``None`` if it is not installed."""
    if find_spec("agents") is None:
        return None
    from agents import SQLiteSession  # noqa: PLC0415 - it is large, and may not be there

    item = {"role": "user", "content": text}

    def session(name: str) -> Any:
        return SQLiteSession(name, directory / "sessions.db")

    async def fill(one: Any) -> None:
        for _ in range(_EACH):
            await one.add_items([item])

    async def measure() -> Sessions:
        lone, times = session("lone"), []
        for _ in range(2 * _ROUNDS):
            began = time.perf_counter()
            await lone.add_items([item])
            times.append(time.perf_counter() - began)
        many = [session(f"s{number}") for number in range(_SESSIONS)]
        began = time.perf_counter()
        await asyncio.gather(*map(fill, many))
        rate = _SESSIONS * _EACH / (time.perf_counter() - began)
        long = session("long")
        await long.add_items([item] * 10_000)
        reads = []
        for _ in range(10):
            began = time.perf_counter()
            assert 10_000 == len(await long.get_items())
            reads.append(time.perf_counter() - began)
        for one in (lone, *many, long):
            one.close()
        return Sessions(statistics.median(times[_ROUNDS:]), rate, statistics.median(reads))

    return asyncio.run(measure())


def redis_streams(directory: Path, text: str) -> Streams | None:
    """Measure ``XADD`` with ``appendfsync always``; return ``None`` if Redis is not installed."""
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        return None
    path = str(directory / "redis")
    settings = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    server = subprocess.Popen(["redis-server", *settings, "--dir", str(directory)], stdout=subprocess.DEVNULL)
    try:
        while not Path(path).exists():
            if server.poll() is not None:
                return None
            time.sleep(0.01)  # nothing tells when it listens
        return Streams(_xadds(path, text, 64, 1, 20_000), _xadds(path, text, 8, 32, 100_000))
    finally:
        server.terminate()
        server.wait()


def _xadds(path: str, text: str, clients: int, depth: int, total: int) -> float:
    sizes = ["-c", str(clients), "-P", str(depth), "-n", str(total), "-r", "64"]
    command = ["redis-benchmark", "-s", path, *sizes, "--csv", "XADD", "s:__rand_int__", "*", "text", text]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(list(csv.reader(printed.splitlines()))[-1][1])
