"""What the rows measure with: daemons on the disk of a directory, and comparable programs if they are installed."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

from reel.daemon.answering import answers
from reel.sync.client import Client

# About as long as what people and models say to each other.
TEXT = "What is a tape deck, and who still has one? It plays cassettes, and I do. " * 5


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a program that is measured: its modules may be compiled."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | more


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Daemon(NamedTuple):
    """A running daemon, and the seconds until it listened."""

    socket: str
    database: str
    pid: int
    ready: float

    def client(self) -> Client:
        """Connect to it."""
        return Client(self.socket).connect()

    def processor_time(self) -> float:
        """Return the seconds of a processor that it has taken, to the nanosecond; on Linux only."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text(encoding="utf-8").split()[0]) for thread in threads) / 1e9

    def memory(self) -> tuple[float, float]:
        """Return the memory that is its own alone, and all that is resident, in MB; on Linux only."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8").splitlines()
        except OSError:
            return float("nan"), float("nan")
        found = {key: value for key, _, value in (line.partition(":") for line in lines)}
        return int(found["RssAnon"].split()[0]) / 1000, int(found["VmRSS"].split()[0]) / 1000


class Setting:
    """Where the rows work.

    Args:
        directory: empty; on the disk to measure.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()
        self._number = 0
        # What is not measured, or beside which nothing is, and what is missing for it.
        self.left_out: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def has(self, what: str, *modules: str, install: str) -> bool:
        """Return whether modules are installed, and note what is left out if they are not.

        Args:
            what: what needs them.
            modules: their names.
            install: what to give to ``pip install``.
        """
        missing = [module for module in modules if not is_installed(module)]
        if missing:
            self.left_out[what] = f"{missing[0]} is not installed: pip install {install}"
        return not missing

    def new_directory(self) -> Path:
        """Return an empty directory."""
        self._number += 1
        made = self.directory / str(self._number)
        made.mkdir()
        return made

    @cached_property
    def daemon(self) -> Daemon:
        """A daemon that all rows use that do not need one of their own."""
        return self._stack.enter_context(running(self.new_directory()))

    @cached_property
    def redis(self) -> str | None:
        """The socket of a Redis that syncs every write; ``None`` if Redis is not installed."""
        missing = [program for program in ("redis-server", "redis-benchmark") if shutil.which(program) is None]
        if missing:
            self.left_out["Redis"] = f"{' and '.join(missing)} cannot be found: apt install redis"
            return None
        return self._stack.enter_context(_redis(self.new_directory()))

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop for what is asynchronous."""
        loop = asyncio.new_event_loop()
        self._stack.callback(loop.close)
        return loop

    def session(self, name: str) -> Any | None:
        """Return an SQLiteSession of openai-agents, in a file for all; ``None`` if it is not installed."""
        if not self.has("SQLiteSession", "agents", install="openai-agents"):
            return None
        from agents import SQLiteSession  # noqa: PLC0415 - it is large, and may not be there

        made = SQLiteSession(name, self.directory / "sessions.db")
        self._stack.callback(made.close)
        return made


def is_installed(module: str) -> bool:
    """Return whether a module is installed, without loading it; what it is in is loaded."""
    return find_spec(module.partition(".")[0]) is not None and find_spec(module) is not None


@contextmanager
def running(directory: Path, *program: str, database: str | None = None) -> Iterator[Daemon]:
    """Run a daemon on the files of a directory until the block ends.

    Args:
        directory: where its files are.
        program: the module to run instead of ``reeld``, and its first arguments.
        database: the URL of a database on a server, instead of a file in the directory.
    """
    socket, database = str(directory / "s"), database or str(directory / "reel.db")
    began = time.perf_counter()
    files = ["--socket", socket, "--database", database]
    process = subprocess.Popen(
        [sys.executable, "-m", *(program or ["reeld"]), *files, "--log-level", "error"],
        env=environment(REEL_CONNECTION_MAX_OPEN="2000"),
    )
    while not answers(socket):
        if process.poll() is not None:
            raise SystemExit("the daemon did not start")
    try:
        yield Daemon(socket, database, process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _redis(directory: Path) -> Iterator[str]:
    path = str(directory / "redis")
    settings = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    server = subprocess.Popen(["redis-server", *settings, "--dir", str(directory)], stdout=subprocess.DEVNULL)
    try:
        while not Path(path).exists():
            if server.poll() is not None:
                raise SystemExit("redis-server did not start")
            time.sleep(0.01)  # nothing tells when it listens
        yield path
    finally:
        server.terminate()
        server.wait()
