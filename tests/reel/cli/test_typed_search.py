"""``reel search`` without a query, in a real terminal emulator."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import until
from tests.patience import PATIENCE

_REEL = shlex.join([sys.executable, "-c", "from reel.cli import process; process()"])
# Says how the command ended, and whether the terminal is as it was.
_SCRIPT = """
before=$(stty -g)
while read -r _; do
  {reel} search & echo $! > pid; wait $!; echo "left $?"
  test "$(stty -g)" = "$before" && echo restored
done
"""


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


@pytest.fixture
def tmux(daemon: str, tmp_path: Path) -> Iterator[Tmux]:
    """A terminal in which each line that is typed starts the search."""
    program = shutil.which("tmux") or pytest.skip("tmux is not installed")
    given = {"REEL_SOCKET": daemon, "PAGER": "cat", "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": ""}
    found = Tmux(program, tmp_path / "tmux", {**os.environ, **given})
    (tmp_path / "script").write_text(_SCRIPT.format(reel=f"{_REEL} < /dev/tty"))
    found.run("new-session", "-d", "-x", "60", "-y", "14", "-c", str(tmp_path), "sh script")
    yield found
    with suppress(subprocess.CalledProcessError):
        found.run("kill-server")


@pytest.mark.slow
def test_a_search_as_one_types(tmux: Tmux, client: Client, name: str, tmp_path: Path) -> None:
    """Hits follow what is typed; Enter shows one, Escape and a signal leave, and the terminal is as it was."""
    client.add(name, ["a 修复 tape 🎧 here", "more tapes"], create=True)
    client.mark(name)
    client.add(name, f"what {name} said")
    client.rewind(name)
    until(lambda: client.stats()["search_behind"] == 0)
    tmux.run("send-keys", "Enter")
    tmux.shows("search>")
    tmux.run("send-keys", "-l", f"agent:{name} tape")
    lines = tmux.shows("> #2  user")
    assert [f"search> agent:{name} tape", name] == lines[:2]
    assert "    a 修复 tape 🎧 here" == lines[3]
    tmux.run("send-keys", "BSpace", "*")
    tmux.shows("> #3  user", "  #2  user")
    tmux.run("resize-window", "-x", "40", "-y", "10")
    tmux.run("send-keys", "Down")
    tmux.shows("> #2  user")
    tmux.run("send-keys", "Enter")
    assert "  a 修复 tape 🎧 here" in tmux.shows("left 0", "restored")
    tmux.run("send-keys", "Enter")
    tmux.shows("search>")
    tmux.run("send-keys", "Escape")
    tmux.shows("left 1")
    tmux.run("send-keys", "Enter")
    tmux.shows("search>")
    os.kill(int((tmp_path / "pid").read_text()), 15)

    assert "restored" == tmux.shows("left 143")[-1]
