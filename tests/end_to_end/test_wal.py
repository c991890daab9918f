"""Another process that reads the database while the daemon writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.other_process import other_process
from tests.patience import PATIENCE

pytestmark = [
    pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux lists locks"),
    pytest.mark.large,
]

_MIB = 1 << 20


def doctor(daemon: Daemon) -> str:
    """Return what the doctor prints."""
    command = [str(Path(sys.executable).parent / "reel"), "--socket", daemon.socket, "doctor"]
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=PATIENCE).stdout


def test_a_reader_that_does_not_end(daemon: Daemon, client: Client) -> None:
    """The counters, the log and the doctor name the process that makes the WAL grow; without it, there is nothing."""
    client.add("demo", "hi", create=True)
    assert [] == client.stats()["wal_readers"]
    with other_process(daemon.database, reads=True) as reader:
        for _ in range(10):
            client.add("demo", "x" * (14 * _MIB))
        assert [reader] == client.stats()["wal_readers"]
        assert f" a reader is slow: {reader}; the WAL has " in daemon.log.read_text()
        assert f"warn  WAL              {daemon.database}-wal: " in (said := doctor(daemon))
        assert f" it grows while others read the database: {reader}\n" in said

    client.add("demo", "x" * (14 * _MIB))
    client.add("demo", "hi")
    assert "WAL" not in doctor(daemon)
