"""Print how fast reel is on this machine: ``make bench``, or ``python -m tests.bench [DIRECTORY]``.

Each figure stands beside what bounds it, measured in the same run on the same disk: one commit of one row by
``sqlite3`` alone, and what others reach that are installed. Run it on a quiet machine.
"""

import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reel.frames import Response
from reel.session import MessagePack
from reeld.store.schema import prepare
from tests.bench.daemon import Daemon, daemon
from tests.bench.following import followers, push_delays
from tests.bench.load import TEXT, adds_a_second
from tests.bench.others import Sessions, Streams, redis_streams, sqlite_sessions
from tests.bench.rendering import render_times

_ROUNDS = 500


def _show(what: str, figure: str, note: str = "") -> None:
    print(f"{what:<44}{figure:>14}  {note}", flush=True)  # noqa: T201 - it is what it is for


def _median(action: Callable[[], Any], rounds: int = _ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def bare_commit(directory: Path) -> float:
    """One row, one commit, by SQLite alone; the WAL is overwritten, as in a daemon that has run for a while."""
    connection = sqlite3.connect(directory / "bare.db", isolation_level=None)
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (a, b);")
    for _ in range(2):
        middle = _median(lambda: connection.execute("INSERT INTO t VALUES (1, ?)", (TEXT,)))
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    connection.close()
    return middle


def bare_rows(directory: Path) -> float:
    """Rows a second of one ``executemany`` of 1,000 on the daemon's own schema."""
    path = str(directory / "rows.db")
    connection = sqlite3.connect(path, isolation_level=None)
    prepare(connection, path)
    connection.execute("INSERT INTO agents VALUES (1, 'u', 'n', NULL, '{}', NULL, NULL, 0, 0, NULL, 0)")
    insert = "INSERT INTO events VALUES (?, 1, ?, 1, 'user', ?, NULL, ?, NULL, 0, 0)"
    began = time.perf_counter()
    for block in range(10):
        first = block * 1000 + 1
        rows = [(i, i, TEXT, i - 1 or None) for i in range(first, first + 1000)]
        connection.execute("BEGIN")
        connection.executemany(insert, rows)
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return 10_000 / took


def adding(running: Daemon, bare: float, sessions: Sessions | None, streams: Streams | None) -> None:
    """Durable adds, alone and many at once."""
    client = running.client()
    client.create("lone")
    theirs = f"; SQLiteSession {sessions.add * 1e6:.0f} us" if sessions else ""
    for _ in range(2):  # the WAL is overwritten from some moment on, as in a daemon that has run for a while
        lone = _median(lambda: client.add("lone", TEXT))
    _show("add, one at a time, p50", f"{lone * 1e6:.0f} us", f"the client sends a key{theirs}")
    plain = _plain_adds(running)
    _show("add, the same without a key, p50", f"{plain * 1e6:.0f} us", f"bare commit {bare * 1e6:.0f} us")
    many = f"; SQLiteSession, 16 of them {sessions.adds:,.0f} /s" if sessions else ""
    redis = f"; Redis {streams.single:,.0f} /s" if streams else ""
    piped = f"; Redis {streams.pipelined:,.0f} /s" if streams else ""
    for connections, depth, total, note in ((16, 1, 10_000, many), (64, 1, 20_000, redis), (8, 32, 100_000, piped)):
        cpu = running.cpu()
        rate = adds_a_second(running.socket, connections, depth, total, f"load-{connections}-{depth}")
        cpu = (running.cpu() - cpu) / total
        what = f"adds, {connections} clients, {depth} in flight"
        _show(what, f"{rate:,.0f} /s", f"{cpu * 1e6:.0f} us of CPU each{note}")


def _plain_adds(running: Daemon) -> float:
    framing = MessagePack()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(running.socket)

        def add() -> None:
            connection.sendall(framing.request(1, "add", ["lone", TEXT]))
            while not any(isinstance(frame, Response) for frame in framing.feed(connection.recv(1 << 16))):
                pass

        return _median(add)


def following(running: Daemon) -> None:
    """The latency of a push, and the cost of followers."""
    client = running.client()
    client.create("followed")
    pushed, answered = push_delays(running.socket, "followed", 1000, 5)
    for what, delays in (("push", pushed), ("answer", answered)):
        middle, late = statistics.median(delays), statistics.quantiles(delays, n=100)[98]
        _show(f"{what} at 1,000 adds a second, p50 and p99", f"{middle * 1e3:.2f} {late * 1e3:.2f} ms", "since due")
    prefix, path = "fed", running.socket
    client.create(f"{prefix}-0")
    for awake, asleep, agent in ((0, 0, "-"), (100, 0, "followed"), (100, 0, f"{prefix}-0"), (99, 1, f"{prefix}-0")):
        with followers(path, agent if awake else "followed", awake, asleep):
            rate = adds_a_second(path, 1, 1, 1500, prefix)
        where = "" if not awake else " on that agent" if agent != "followed" else " on another agent"
        _show(
            f"adds, alone, {awake + asleep} followers{where}", f"{rate:,.0f} /s", f"{asleep} never read" * bool(asleep)
        )


def adding_many(running: Daemon, rows: float) -> None:
    """1,000 messages in one add."""
    client = running.client()
    client.create("many")
    took = _median(lambda: client.add("many", [TEXT] * 1000), 10)
    _show("one add of 1,000 messages", f"{1000 / took:,.0f} rows/s", f"bare executemany {rows:,.0f} rows/s")


def cloning(running: Daemon) -> None:
    """A clone of a short and of a long conversation."""
    client = running.client()
    client.add("short", [TEXT] * 100, create=True)
    for _ in range(10):
        client.add("long", [TEXT] * 10_000, create=True)
    for name in ("short", "long"):
        client.agent(name)
        took = _median(lambda name=name: client.clone(name), 50)  # type: ignore[misc]
        _show(f"clone of {client.agent(name).messages:,} messages, p50", f"{took * 1e6:.0f} us")


def interleaved(client: Any) -> None:
    """Fill 100 agents in turns, so that the rows of each are far apart."""
    for _ in range(100):
        for number in range(100):
            client.add(f"cold-{number}", [TEXT] * 100, create=True)


def loading(directory: Path, sessions: Sessions | None) -> None:
    """10,000 messages of one conversation, cold and warm; a start on a large file."""
    with daemon(directory) as running:
        interleaved(running.client())
    with daemon(directory) as running:
        size = Path(running.database).stat().st_size / 1e6
        _show("start, 1,000,000 events and more in the file", f"{running.ready * 1e3:.0f} ms", f"{size:.0f} MB")
        client = running.client()
        began = time.perf_counter()
        client.agent("cold-7")
        _show("first use of a cold agent of 10,000", f"{(time.perf_counter() - began) * 1e3:.0f} ms")
        warm = _median(lambda: client.messages("cold-7", limit=10_000), 20)
        theirs = f"SQLiteSession {sessions.items * 1e3:.1f} ms" if sessions else ""
        _show("10,000 messages to a client, decoded", f"{warm * 1e3:.1f} ms", theirs)
        before = running.memory()
        for number in range(50):
            client.agent(f"cold-{number}")
        each = (running.memory() - before) / 49
        _show(
            "memory of a live conversation of 10,000",
            f"{each:.1f} MB",
            f"encoded {10_000 * (len(TEXT) + 70) / 1e6:.1f} MB",
        )


def commands(running: Daemon) -> None:
    """The command as a process."""
    reel = str(Path(sys.executable).parent / "reel")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["REEL_SOCKET"] = running.socket
    for words in (["--version"], ["add", "lone", "hello"]):
        command = [reel, *words]
        run = lambda command=command: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)  # noqa: E731
        _show(f"reel {' '.join(words)}, as a process, p50", f"{_median(run, 30) * 1e3:.0f} ms")


def rendering() -> None:
    """10,000 messages rendered, and once more after one was added."""
    for name, times in render_times():
        _show(f"render 10,000 messages, {name}", f"{times.cold * 1e3:.0f} ms", f"a body of {times.size / 1e6:.1f} MB")
        note = f"encoding that body {times.encoding * 1e3:.1f} ms"
        _show("the same after one more", f"{times.again * 1e3:.1f} ms", note)


def main() -> None:
    """Measure everything."""
    rendering()
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="reel-bench-", dir=where) as name:
        directory = Path(name)
        bare, rows = bare_commit(directory), bare_rows(directory)
        sessions, streams = sqlite_sessions(directory, TEXT), redis_streams(directory, TEXT)
        with daemon(directory) as running:
            _show("start, empty database", f"{running.ready * 1e3:.0f} ms")
            _show("memory at rest", f"{running.memory():.0f} MB")
            adding(running, bare, sessions, streams)
            following(running)
            adding_many(running, rows)
            cloning(running)
            commands(running)
        (directory / "large").mkdir()
        loading(directory / "large", sessions)


if __name__ == "__main__":
    main()
