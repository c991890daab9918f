"""A real terminal emulator, for commands that take the whole screen."""

import subprocess
import time
from pathlib import Path

from tests.patience import PATIENCE


class Tmux:
    """A terminal emulator with a program in it.

    Args:
        program: its path.
        socket: the path for the socket of its server.
        environment: the variables of the programs in it.
    """

    def __init__(self, program: str, socket: Path, environment: dict[str, str]) -> None:
        self._command = [program, "-S", str(socket), "-f", "/dev/null"]
        self._environment = environment

    def run(self, *words: str) -> str:
        """Run a command of tmux, and return its output."""
        done = subprocess.run(
            [*self._command, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return done.stdout

    def lines(self) -> list[str]:
        """Return the lines of the screen, without blank ones at its end."""
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, *wanted: str) -> list[str]:
        """Wait until there is a line that begins with each of some texts; return all lines."""
        deadline = time.monotonic() + PATIENCE
        while not all(any(line.startswith(text) for line in self.lines()) for text in wanted):
            assert time.monotonic() < deadline, self.lines()
            time.sleep(0.02)  # between two looks
        return self.lines()
