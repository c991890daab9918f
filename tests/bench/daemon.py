"""A real daemon to measure, on the disk of the working directory."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from reel.process import answers
from reel.sync.client import Client


class Daemon(NamedTuple):
    """A running daemon."""

    socket: str
    database: str
    pid: int
    ready: float

    def client(self) -> Client:
        """Connect to it."""
        return Client(self.socket).connect()

    def memory(self) -> float:
        """Return its resident memory in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu(self) -> float:
        """Return the processor time that it has used, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def daemon(directory: Path) -> Iterator[Daemon]:
    """Run a daemon on the files of a directory until the block ends."""
    socket, database = str(directory / "s"), str(directory / "reel.db")
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "reeld", "--socket", socket, "--database", database, "--log-level", "error"],
        env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
    )
    while not answers(socket):
        if process.poll() is not None:
            raise SystemExit("the daemon did not start")
    try:
        yield Daemon(socket, database, process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()
