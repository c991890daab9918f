"""A daemon that one test after the other uses, each as if it were new: to start one takes ten times as long.

A module or a ``conftest`` imports the three fixtures.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path

import pytest

from reel.base.errors import NotFound
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon
from tests.running import end

# So many conversations take longer to purge than a daemon takes to start.
_MANY = 10


class ReusedDaemon:
    """The daemon, which is started when a test needs it, and again if a test has ended it."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._daemon: Daemon | None = None

    @contextmanager
    def lent(self) -> Iterator[Daemon]:
        """Lend the daemon, which runs and has no conversations, until the block ends."""
        if self._daemon is None:
            self._daemon = ForkedDaemon(self._stack.enter_context(short_directory())).start()
        daemon, process = self._daemon, self._daemon.process
        yield daemon
        if daemon.process is not process or process.poll() is not None or not has_forgotten(daemon):
            self.close()

    def close(self) -> None:
        """End it, or the one in its place that a program has started."""
        if self._daemon is not None:
            self._daemon.close()
            end(self._daemon.socket)
        self._daemon = None
        self._stack.close()


def has_forgotten(daemon: Daemon) -> bool:
    """Purge all conversations of a daemon if they are few, and return whether it has none."""
    with daemon.client() as client:
        agents = [*islice(client.iter_agents(), _MANY)]
        if len(agents) == _MANY:
            return False
        for agent in agents:
            with suppress(NotFound):  # it went with the one of which it was a clone
                client.purge(agent.id, force=True)
    return True


@pytest.fixture(scope="module")
def reused() -> Iterator[ReusedDaemon]:
    """The daemon of the tests that need one which runs."""
    daemon = ReusedDaemon()
    yield daemon
    daemon.close()


@pytest.fixture
def prepared(request: pytest.FixtureRequest, directory: Path, reused: ReusedDaemon) -> Iterator[Daemon]:
    """The daemon of a test that needs one which runs; for all others one that is not started yet.

    One that a program starts ends with the test.
    """
    if "daemon" in request.fixturenames:
        with reused.lent() as daemon:
            yield daemon
    else:
        daemon = ForkedDaemon(directory)
        yield daemon
        daemon.close()
        end(daemon.socket)


@pytest.fixture
def daemon(prepared: Daemon) -> Daemon:
    """A running daemon."""
    return prepared
