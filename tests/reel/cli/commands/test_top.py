"""``reel top``, against a real daemon and in a real terminal emulator."""

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.forkserver import ForkedDaemon
from tests.reel.cli.conftest import Reel
from tests.reel.cli.tmux import Tmux

_REEL = shlex.join([sys.executable, "-c", "from reel.cli import process; process()"])
# Says how the command was suspended and how it ended, and each time whether the terminal is as it was.
_SCRIPT = f"""
set -m
before=$(stty -g)
{_REEL} top --every 0.1; echo "left $?"
test "$(stty -g)" = "$before" && echo restored
read -r _
fg; echo "left $?"
test "$(stty -g)" = "$before" && echo restored
cat
"""


def test_one_frame(reel: Reel, client: Client, name: str) -> None:
    """Without a terminal, the figures are printed once."""
    client.add(name, "hi", create=True)
    ran = reel("top", "--every", "0.01")

    assert (0, "") == (ran.status, ran.err)
    assert ran.out.startswith("reeld ")
    assert {"requests", "CONVERSATION", "METHOD", "CLIENT"} <= {
        line.split()[0] for line in ran.out.splitlines() if line
    }


def test_figures_as_json(reel: Reel, client: Client, name: str) -> None:
    """Programs get every figure, once."""
    client.create(name)
    client.add(name, ["a", "b"])  # an agent is in memory when it is used
    (found,) = reel("top", "--json", "--every", "0.01").documents

    assert [(3, [])] == [(agent["seq"], agent["followers"]) for agent in found["agents"] if agent["name"] == name]
    assert {"per_second", "p50", "p99"} == found["commits"].keys()
    assert "reel" in {each["client"] for each in found["connections"]}


@pytest.mark.parametrize("every", ["0", "-1", "x"])
def test_an_interval_that_is_none(reel: Reel, every: str) -> None:
    """An interval is a number of seconds above zero."""
    assert 2 == reel("top", f"--every={every}").status


@pytest.mark.slow
def test_on_a_terminal(directory: Path, tmp_path: Path) -> None:
    """It follows the size of the window and a restart of the daemon, can be suspended, and restores the terminal."""
    program = shutil.which("tmux") or pytest.skip("tmux is not installed")
    daemon = ForkedDaemon(directory).start()
    (tmp_path / "script").write_text(_SCRIPT)
    given = {"REEL_SOCKET": daemon.socket, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": "", "COLUMNS": "80"}
    tmux = Tmux(program, directory / "tmux", {**os.environ, **given})
    try:
        tmux.run("new-session", "-d", "-x", "80", "-y", "24", "-c", str(tmp_path), "sh script")
        with daemon.client() as client:
            client.create("demo")
            client.add("demo", "hi")
        assert tmux.shows("demo", "q quit")[0].startswith("reeld ")
        tmux.run("resize-window", "-x", "50", "-y", "10")
        tmux.run("send-keys", "Tab")
        assert 10 == len(tmux.shows("METHOD", "add", "q quit  Tab  <"))
        daemon.kill()
        tmux.shows("no answer for")
        daemon.start()
        tmux.shows("reeld ")
        tmux.run("send-keys", "C-z")
        tmux.shows("restored", "left ")
        tmux.run("send-keys", "Enter")
        tmux.shows("METHOD")
        tmux.run("send-keys", "q")
        tmux.ends_with("left 0", "restored")
    finally:
        with suppress(subprocess.CalledProcessError):
            tmux.run("kill-server")
        daemon.close()
