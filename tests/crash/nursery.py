"""Where doomed daemons come from; see :mod:`tests.crash.doomed`."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.crash import tally
from tests.daemon import PATIENCE, Daemon


class Nursery:
    """A process that has loaded all that a daemon needs, and starts one after the other."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "tests.crash.doomed"]
        # Coverage counts what other tests run; here it would only be slow, and is lost with each kill.
        own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        self._process = subprocess.Popen[str](
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**own, **(environment or {})},
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
        """Wait for what the daemon dies of."""
        ready, _, _ = select.select([self._said], [], [], patience)
        return int(self._line()) if ready else None


class Child:
    """A daemon that a nursery has started, with as much of a process as is asked of one."""

    def __init__(self, pid: int, nursery: Nursery) -> None:
        self.pid = pid
        self._nursery = nursery
        self._status: int | None = None

    def poll(self) -> int | None:
        """Give what it died of."""
        return self.wait(0)

    def wait(self, patience: float = PATIENCE) -> int | None:
        """Wait for it to die, and give what of."""
        if self._status is None:
            self._status = self._nursery.death(patience)
        return self._status

    def send_signal(self, number: int) -> None:
        """Tell it something."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a warning."""
        self.send_signal(signal.SIGKILL)


class Doomed(Daemon):
    """A daemon that dies where it is told to."""

    def __init__(self, directory: Path, nursery: Nursery, name: str = "r") -> None:
        super().__init__(directory)
        self.database = str(directory / f"{name}.db")
        self._doom = directory / f"{name}.doom"
        self._died = directory / f"{name}.doom.died"
        self._nursery = nursery
        self.later = False
        self.arguments: list[str] = []
        self.doom("")

    def launch(self) -> None:
        arguments = ["--socket", self.socket, "--database", self.database, *self.arguments]
        order = {"doom": str(self._doom), "log": str(self.log), "later": self.later, "arguments": arguments}
        self._process = self._nursery.start(order)  # type: ignore[assignment]  # as much of one as is asked for

    def doom(self, point: str) -> None:
        """Let it die when it next comes to a place; with none, let it live."""
        self._died.unlink(missing_ok=True)
        fate = self._doom.with_suffix(".next")
        fate.write_text(point)
        fate.rename(self._doom)

    def died(self) -> str:
        """Wait until it has been killed; give the place where it killed itself."""
        assert -signal.SIGKILL == self.process.wait(PATIENCE), self.log.read_text()
        tally.count("deaths")
        return self._died.read_text() if self._died.exists() else ""
