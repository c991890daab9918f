"""Daemons that kill themselves; see :mod:`tests.crash.crash_points`."""

import signal
from pathlib import Path

from tests.crash import stats
from tests.daemon import Daemon
from tests.forkserver import ForkServer
from tests.patience import PATIENCE

# What a fork server runs for them.
MODULE = "tests.crash.crash_points"


class CrashingDaemon(Daemon):
    """A daemon that kills itself at a crash point."""

    def __init__(self, directory: Path, fork_server: ForkServer, name: str = "r") -> None:
        super().__init__(directory)
        self.database = str(directory / f"{name}.db")
        self._point_file = directory / f"{name}.point"
        self._death_file = directory / f"{name}.point.died"
        self._fork_server = fork_server
        self.later = False
        self.arguments: list[str] = []
        self.crash_at("")

    def launch(self) -> None:
        arguments = ["--socket", self.socket, "--database", self.database, *self.arguments]
        order = {"point_file": str(self._point_file), "log": str(self.log), "later": self.later, "arguments": arguments}
        self._process = self._fork_server.start(order)  # type: ignore[assignment]  # the part of Popen that is used

    def crash_at(self, point: str) -> None:
        """Kill it when it next reaches a point; an empty name disables that."""
        self._death_file.unlink(missing_ok=True)
        following = self._point_file.with_suffix(".next")
        following.write_text(point)
        following.rename(self._point_file)

    def reached(self) -> set[str]:
        """Return the points that it has reached, over all starts."""
        return set(Path(f"{self._point_file}.reached").read_text().splitlines())

    def wait_for_death(self) -> str:
        """Wait until it was killed; return the point where it killed itself, if it did."""
        assert -signal.SIGKILL == self.process.wait(PATIENCE), self.log.read_text()
        stats.count("deaths")
        return self._death_file.read_text() if self._death_file.exists() else ""
