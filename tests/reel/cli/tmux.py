"""A real terminal emulator, for commands that take the whole screen."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.patience import LONGEST, Deadline


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
            timeout=LONGEST,
            check=True,
        )
        return done.stdout

    def lines(self) -> list[str]:
        """Return the lines of the screen, without blank ones at its end."""
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, *wanted: str) -> list[str]:
        """Wait until there is a line that begins with each of some texts; return all lines of that moment."""
        return self._until(lambda lines: all(any(line.startswith(text) for line in lines) for text in wanted))

    def shows_anywhere(self, *wanted: str) -> None:
        """Wait until there is a line with one of some texts in it."""
        self._until(lambda lines: any(text in line for text in wanted for line in lines))

    def ends_with(self, *wanted: str) -> None:
        """Wait until these are the last lines."""
        self._until(lambda lines: lines[-len(wanted) :] == [*wanted])

    def ends_in(self, wanted: str) -> list[str]:
        """Wait until the last line ends with a text; return all lines of that moment."""
        return self._until(lambda lines: lines[-1].endswith(wanted))

    def _until(self, is_shown: Callable[[list[str]], bool]) -> list[str]:
        deadline = Deadline()
        while not is_shown(lines := self.lines()):
            assert not deadline.is_over, lines
            time.sleep(0.02)  # between two looks
        return lines
