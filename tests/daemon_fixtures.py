"""A daemon and a client of it for each test; a folder may have another daemon, such as one that its tests share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for the daemon's files, with a name short enough for a socket's path."""
    with short_directory() as path:
        yield path


@pytest.fixture
def prepared(directory: Path) -> Iterator[Daemon]:
    """A daemon that is not started yet; it ends with the test."""
    daemon = ForkedDaemon(directory)
    yield daemon
    daemon.close()


@pytest.fixture
def daemon(prepared: Daemon) -> Daemon:
    """A running daemon."""
    return prepared.start()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client that is connected to the daemon."""
    with daemon.client() as client:
        yield client


@pytest.fixture
def home(directory: Path, prepared: Daemon, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with the default database of a daemon that is not started yet."""
    home = directory / "home"
    prepared.database = str(home / ".local/state/reel/reel.db")
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "REEL_DATABASE", "REEL_AGENT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REEL_SOCKET", prepared.socket)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return home
