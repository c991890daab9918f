"""Backups as docs/operations.md describes them, while clients write."""

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import pytest

from tests import documents
from tests.daemon import PATIENCE, Daemon, until


class Writers:
    """Clients that add messages until they are told to end.

    Args:
        daemon: whose.
        number: how many, each with an agent of its own.
    """

    def __init__(self, daemon: Daemon, number: int = 4) -> None:
        # What was acknowledged.
        self.texts: list[str] = []
        self._daemon = daemon
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(f"agent-{each}",)) for each in range(number)]

    def _write(self, agent: str) -> None:
        with self._daemon.client() as client:
            number = 0
            while not self._ended.is_set():
                number += 1
                client.add(agent, text := f"{agent} {number}", create=True)
                self.texts.append(text)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.wait_for_more(50)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_for_more(self, number: int) -> None:
        """Wait until so many more were acknowledged."""
        enough = len(self.texts) + number
        until(lambda: len(self.texts) >= enough)


@pytest.fixture
def home(directory: Path, prepared: Daemon, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose database is the default one; the daemon on it is not started yet."""
    home = directory / "home"
    prepared.database = str(home / ".local/state/reel/reel.db")
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "REEL_DATABASE", "REEL_AGENT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REEL_SOCKET", prepared.socket)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return home


def run(script: str) -> str:
    """Run shell commands as a user types them; give what they print."""
    command = ["sh", "-ec", f"umask 022\n{script}"]
    return subprocess.run(command, text=True, capture_output=True, check=True, timeout=PATIENCE).stdout


def texts(daemon: Daemon) -> set[str | None]:
    """Give every text that was added."""
    with daemon.client() as client:
        return {record["content"] for agent in client.iter_agents() for record in client.iter_conversation(agent.id)}


def test_the_documented_backup(prepared: Daemon, home: Path) -> None:
    """It ends while clients write, and is one private file with everything that was acknowledged before."""
    (backup,) = documents.blocks("operations.md", "## Backups", "sh")
    prepared.start()
    with prepared.client() as client:
        client.add("large", ["x" * 500_000] * 20, create=True)
    with Writers(prepared) as writers:
        before = set(writers.texts)
        run(backup)
        writers.wait_for_more(1)
    prepared.close()
    (copy,) = (home / "backups").iterdir()

    assert 0o600 == stat.S_IMODE(copy.stat().st_mode)
    shutil.copy(copy, prepared.database)
    prepared.start()
    assert "nothing is wrong" in run("reel verify")
    assert before <= texts(prepared)
