"""A fork server, which starts daemons fast, and daemons that it kills; see :mod:`tests.crash.crash_points`."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.crash import stats
from tests.daemon import Daemon
from tests.patience import PATIENCE


class ForkServer:
    """A process that has imported everything that a daemon needs, and forks one daemon after the other."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "tests.crash.crash_points"]
        self._process = subprocess.Popen[str](
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **(environment or {})},
        )

        assert self._process.stdout is not None
        self._said = self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=PATIENCE)

    def start(self, order: dict[str, Any]) -> "Child":
        """Start a daemon; the one before must be dead."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        return Child(int(self._line()), self)

    def _line(self) -> str:
        return self._said.readline()

    def death(self, patience: float) -> int | None:
        """Wait for the daemon's exit code; ``None`` if it still runs after so many seconds."""
        ready, _, _ = select.select([self._said], [], [], patience)
        return int(self._line()) if ready else None


class Child:
    """A daemon that a fork server has started, with the part of ``Popen`` that the tests need."""

    def __init__(self, pid: int, fork_server: ForkServer) -> None:
        self.pid = pid
        self._fork_server = fork_server
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, or ``None`` if it runs."""
        return self.wait(0)

    def wait(self, patience: float = PATIENCE) -> int | None:
        """Wait for it to end, and return its exit code."""
        if self._status is None:
            self._status = self._fork_server.death(patience)
        return self._status

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


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

    def wait_for_death(self) -> str:
        """Wait until it was killed; return the point where it killed itself, if it did."""
        assert -signal.SIGKILL == self.process.wait(PATIENCE), self.log.read_text()
        stats.count("deaths")
        return self._death_file.read_text() if self._death_file.exists() else ""
