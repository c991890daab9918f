"""Starting a daemon in the background: what it finds in its environment, and when it counts as started."""

import stat
from pathlib import Path

import pytest

from reel.daemon.starting import READY_WITHIN, Patience, start
from tests.planted import Planted

pytestmark = pytest.mark.slow


def test_start_is_idempotent(home: Path) -> None:
    """The first start starts a daemon and says so, the second finds it."""
    path = str(home / "s.sock")

    assert [True, False] == [start(path, database=str(home / "r.db")) for _ in range(2)]
    assert (home / "r.db").is_file()


def test_starting_imports_nothing_from_the_current_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon runs no module of the current directory, not even if ``PYTHONPATH`` names that by a relative path."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", Planted.PYTHONPATH)
    start(str(home / "s.sock"))

    assert [] == planted.imported()


def test_start_keeps_absolute_python_paths(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute entry of ``PYTHONPATH`` is the user's own and reaches the daemon."""
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", f"lib:{tmp_path}:")
    start(str(home / "s.sock"))

    assert (tmp_path / "trace").exists()


def test_the_log_of_a_started_daemon(home: Path) -> None:
    """The daemon's log is appended to a file that only its owner may read."""
    log = home / "state" / "reel" / "reeld.log"
    log.parent.mkdir(parents=True)
    log.write_text("earlier\n")
    start(str(home / "s.sock"))

    assert log.read_text().startswith("earlier\n")
    assert "ready in" in log.read_text()
    assert 0o600 == stat.S_IMODE(log.stat().st_mode)


def test_a_daemon_that_takes_long() -> None:
    """A daemon that logs something, as a migration does, is given the same time again; one that falls silent is not."""
    patience = Patience(0, 20)
    # A line every 15 seconds, ten times.
    over = [second for second in range(200) if patience.is_over(min(second // 15, 10), second)]

    assert [*range(151 + int(READY_WITHIN), 200)] == over
