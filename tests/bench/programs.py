"""Rows about processes: how soon the daemon listens, what the command costs, and how much memory there is."""

import resource
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgpack

from tests.bench.setting import TEXT, Setting, environment, running
from tests.bench.table import Line, in_turns

_CONNECTIONS = 500
_AGENTS = 10_000


def start(setting: Setting) -> Iterator[Line]:
    """Measure a start on an empty database, and on one that is there."""
    directory = setting.new_directory()
    for what in ("a start, new database", "a start"):
        times = []
        for _ in range(5):
            where = setting.new_directory() if what != "a start" else directory
            with running(where) as daemon:
                times.append(daemon.ready)
        yield Line(what, f"{statistics.median(times) * 1e3:.0f} ms", None, None, "<= 300 ms")


def command(setting: Setting) -> Iterator[Line]:
    """Measure the processor time of commands."""
    reel = str(Path(sys.executable).parent / "reel")
    # Its script, as the newest pip writes it: older ones, such as 23.2, let it import `re` first.
    thin = [sys.executable, "-c", "import sys; from reel.cli import process; sys.exit(process())"]
    setting.daemon.client().create("said")
    more = environment(REEL_SOCKET=setting.daemon.socket)

    def cpu(words: Sequence[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, env=more, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    commands = {
        "reel --version": ([reel, "--version"], "<= 2"),
        "reel --version, by the script of a new pip": ([*thin, "--version"], "<= 1.3"),
        "reel add": ([reel, "add", "said", TEXT], "<= 3"),
        "reel add, by the script of a new pip": ([*thin, "add", "said", TEXT], "<= 2.2"),
        "reel list": ([reel, "list"], ""),
    }
    python, *ours = in_turns(
        15,
        lambda: cpu([sys.executable, "-c", "pass"]),
        *(lambda words=words: cpu(words) for words, _ in commands.values()),
    )
    assert python is not None
    for (what, (_, goal)), figure in zip(commands.items(), ours, strict=True):
        assert figure is not None
        beside = f"the processor time of python -c pass ({python * 1e3:.0f} ms)"
        yield Line(what, f"{figure * 1e3:.0f} ms", beside, figure / python, goal)


def memory(setting: Setting) -> Iterator[Line]:
    """Measure memory at rest, for each connection, and after many agents were used."""
    directory = setting.new_directory()
    with running(directory) as daemon:
        own, resident = daemon.memory()
        yield Line("at rest", f"{resident:.0f} MB", f"{own:.0f} MB its own")
        with ExitStack() as stack:
            for _ in range(_CONNECTIONS):
                connection = stack.enter_context(socket.socket(socket.AF_UNIX))
                connection.connect(daemon.socket)
                connection.sendall(msgpack.packb((0, 1, "ping", [])))
                connection.recv(100)
            each = (daemon.memory()[0] - own) * 1000 / _CONNECTIONS
        yield Line("a connection", f"{each:.0f} KB", f"{_CONNECTIONS} that are open", None, "<= 20 KB")
        client = daemon.client()
        for number in range(_AGENTS):
            client.add(f"agent-{number}", [TEXT] * 20, create=True)
    with running(directory) as daemon:
        client = daemon.client()
        for number in range(_AGENTS):
            client.messages(f"agent-{number}", last=1)
        own, resident = daemon.memory()
        yield Line(f"after {_AGENTS:,} agents", f"{resident:.0f} MB", f"{own:.0f} MB its own", None, "<= 90 MB")
