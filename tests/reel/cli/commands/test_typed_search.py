"""``reel search`` without a query, in a real terminal emulator."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.reel.cli.tmux import Tmux

_REEL = shlex.join([sys.executable, "-c", "from reel.cli import process; process()"])
# Says how the command ended, and whether the terminal is as it was.
_SCRIPT = """
before=$(stty -g)
while read -r _; do
  {reel} search & echo $! > pid; wait $!; echo "left $?"
  test "$(stty -g)" = "$before" && echo restored
done
"""


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
    until_indexed(client)
    tmux.run("send-keys", "Enter")
    tmux.shows("search>")
    tmux.run("send-keys", "-l", f"agent:{name} tape")
    lines = tmux.shows(f"search> agent:{name} tape", "> #2  user")
    assert [name, "    a 修复 tape 🎧 here"] == [lines[1], lines[3]]
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
    tmux.ends_with("left 1", "restored")
    tmux.run("send-keys", "Enter")
    tmux.shows("search>")
    os.kill(int((tmp_path / "pid").read_text()), 15)

    tmux.ends_with("left 143", "restored")
