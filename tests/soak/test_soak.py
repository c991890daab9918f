"""After minutes of a mixed load the daemon has what it had at the beginning.

``make soak`` runs it for ten minutes, and compares latencies as well.
"""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, TidyDaemon
from tests.patience import PATIENCE
from tests.soak.clients import BOOK, BOOKS, SHELVES, Pace, branch, dawdle, follow, hurry, read, write
from tests.soak.gate import Gate
from tests.soak.measures import Measures, growth, measure

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("SOAK_SECONDS", "3"))
LONG = "SOAK_SECONDS" in os.environ
# How many clients do what; they are 64 with those who follow.
_CLIENTS: dict[Callable[[str, str, Pace], None], int] = {write: 24, branch: 8, read: 8, hurry: 8, dawdle: 8}
_FOLLOWERS = 8
# They ask for no counts: for these, catching up folds many conversations, and what that takes at its peak stays
# in Python's heap in part. How far they are behind after a restart depends on the machine.
_KINDS = ["user", "assistant", "created", "clone", "agent_killed"]
# Of the time: until the first measures, until the second ones, and once more until the last ones.
_WARM_UP, _SAME_PROCESS = 0.15, 0.45
# Between them the daemon ends like this, in the middle of the load.
_ENDS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)
_BETWEEN_ENDS = 0.08


class Soak:
    """A daemon under load.

    Args:
        daemon: the daemon, which runs.
    """

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.failures: list[str] = []
        self._gate = Gate(sum(_CLIENTS.values()))
        self._measured = 0

    @contextmanager
    def load(self) -> Iterator[None]:
        """Run all clients until the block ends."""
        with self.daemon.client() as client:
            for shelf in SHELVES:
                client.add(shelf, ["x" * BOOK] * BOOKS, create=True)
        threads: list[Thread] = []
        with ExitStack() as stack:
            try:
                threads += [self._start(run, number) for run, count in _CLIENTS.items() for number in range(count)]
                for since in [None, 0] * (_FOLLOWERS // 2):
                    patient = stack.enter_context(Client(self.daemon.socket, patience=PATIENCE))
                    subscription = stack.enter_context(patient.subscribe(since=since, kinds=_KINDS))
                    threads.append(self._thread(follow, subscription))
                yield
            finally:
                self._gate.end()
                stack.close()
                for thread in threads:
                    thread.join(PATIENCE)

    def _start(self, run: Callable[[str, str, Pace], None], number: int) -> Thread:
        name = f"{run.__name__}-{number}"
        return self._thread(run, self.daemon.socket, name, Pace(self._gate, number))

    def _thread(self, run: Callable[..., None], *args: object) -> Thread:
        def noting_failures() -> None:
            try:
                run(*args)
            except Exception:
                self.failures.append(traceback.format_exc())
                while self._gate.wait(0):  # the others go on, and can be stopped
                    pass

        thread = Thread(target=noting_failures, name=run.__name__)
        thread.start()
        return thread

    def wait(self, share: float) -> None:
        """Let the clients work for a share of the time."""
        time.sleep(share * SECONDS)
        assert [] == self.failures

    def measure(self) -> Measures:
        """Measure while the clients stand still."""
        self._gate.close()
        self._measured += 1
        with self.daemon.client() as client:
            found = measure(self.daemon, client, f"measured-{self._measured}", 3000 if LONG else 0)
        self._gate.open()
        print(f"\n{found}", end="")  # noqa: T201 - for those who wait
        return found

    def restart(self, end: signal.Signals) -> None:
        """End the daemon in the middle of the load, and start it again."""
        self.daemon.end(end)
        self.daemon.start()


@pytest.fixture
def soaked(directory: Path) -> Iterator[Soak]:
    """A daemon that forgets early what nobody uses."""
    daemon = TidyDaemon(directory)
    daemon.options = ["--agents-idle", "1", "--connection-stall", "5"]
    yield Soak(daemon.start())
    daemon.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists descriptors and memory")
def test_soak(soaked: Soak) -> None:
    """Memory, descriptors, tasks and the WAL are as before: later in the same process, and after restarts."""
    with soaked.load():
        soaked.wait(_WARM_UP)
        first = soaked.measure()
        soaked.wait(_SAME_PROCESS)
        later = soaked.measure()
        for end in _ENDS:
            soaked.restart(end)
            soaked.wait(_BETWEEN_ENDS)
        soaked.wait(_WARM_UP)
        last = soaked.measure()
    with soaked.daemon.client() as client:
        counted, checked = client.stats(), client.verify()
    log = soaked.daemon.log.read_text()

    assert [] == soaked.failures
    assert [] == [line for line in log.splitlines() if " ERROR " in line or " CRITICAL " in line]
    assert (0, 0, []) == (counted["failed_agents"], counted["mended_agents"], list(checked.problems))
    assert [] == growth(first, later, is_long=LONG)
    assert [] == growth(first, last, is_long=LONG)
