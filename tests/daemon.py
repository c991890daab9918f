"""A real daemon in its own process."""

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from reel.base.errors import NotRunning
from reel.sync.client import Client
from tests.patience import PATIENCE
from tests.places import FILES


@contextmanager
def short_directory() -> Iterator[Path]:
    """Make a directory with a name short enough for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="reel-", dir=FILES) as path:
        yield Path(path)


@contextmanager
def full_listener(path: str) -> Iterator[None]:
    """Listen on a socket whose queue is full, and accept nothing."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen(0)
        while True:
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            if waiting.connect_ex(path):
                break
        yield


def until(condition: Callable[[], bool]) -> None:
    """Poll until a condition holds that nothing signals."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # between two polls


def later() -> None:
    """Wait until the clock shows another millisecond: what is done next has a later time than all before it."""
    before = time.time_ns() // 1_000_000
    until(lambda: time.time_ns() // 1_000_000 > before)


def until_indexed(client: Client) -> None:
    """Wait until all events are in the search index, which nothing signals."""
    until(lambda: client.stats()["search_behind"] == 0)


@contextmanager
def hanging(daemon: "Daemon") -> Iterator[None]:
    """Make a daemon hang for the block."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


class Daemon:
    """A daemon on a socket and a database in one directory; it can be started again and again."""

    def __init__(self, directory: Path) -> None:
        self.socket = str(directory / "s.sock")
        self.database = str(directory / "r.db")
        self.log = directory / "log"
        # The command line that replaces our own.
        self.environment: Mapping[str, str] | None = None
        # More arguments, and the limit of open files, if there is one.
        self.options: list[str] = []
        self.files: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of the latest start."""
        assert self._process is not None
        return self._process

    def command(self) -> list[str]:
        """Return the command line."""
        return [sys.executable, "-m", "reeld", "--socket", self.socket, "--database", self.database, *self.options]

    def _limited(self) -> list[str]:
        limit = [] if self.files is None else ["sh", "-c", f'ulimit -n {self.files}; exec "$@"', "sh"]
        return [*limit, *self.command()]

    def launch(self) -> None:
        """Start it without waiting."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._limited(), stdout=log, stderr=log, env=self.environment)

    def start(self) -> Self:
        """Start it, and wait until it has replied."""
        self.launch()
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.005)  # between two polls
        return self

    def _answers(self) -> bool:
        try:
            with Client(self.socket, patience=0) as client:
                return client.ping()
        except NotRunning:
            return False

    def refused(self) -> subprocess.CompletedProcess[str]:
        """Start a daemon that ends by itself, and return what it printed."""
        return subprocess.run(self.command(), text=True, capture_output=True, check=False, timeout=PATIENCE)

    def largest_memory(self) -> int:
        """Return its peak memory in bytes."""
        return self._memory("VmHWM")

    def anonymous_memory(self) -> int:
        """Return how many bytes of memory it has now that are its own: those of files do not count."""
        return self._memory("RssAnon")

    def _memory(self, what: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith(f"{what}:"))
        return int(line.split()[1]) << 10

    def client(self) -> Client:
        """Connect to it; a restart may take as long as it does."""
        return Client(self.socket, patience=PATIENCE).connect()

    def put_back(self, backup: Path) -> None:
        """Stop, put a backup in the place of the database, and start again."""
        assert 0 == self.end()
        for file in ("", "-wal", "-shm"):
            Path(self.database + file).unlink(missing_ok=True)
        shutil.copy(backup, self.database)
        self.start()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End it if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.end()


# The daemon itself, with maintenance twice a second.
_TIDY = """
import sys
from reeld import app, config
app._MAINTENANCE_EVERY = 0.5
sys.exit(app.main(config.parse()))
"""


class TidyDaemon(Daemon):
    """A daemon whose maintenance does not take a minute to come."""

    def command(self) -> list[str]:
        """Return the command line."""
        return [sys.executable, "-c", _TIDY, *super().command()[3:]]
