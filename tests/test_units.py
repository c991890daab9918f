"""The systemd units are valid, restrictive, and installed for the right program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

_ROOT = Path(__file__).parent.parent
_needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
# In tenths. Offline, systemd rates the user manager as root, and this figure leaves out namespaces.
_EXPOSURE = 61


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the units for a temporary user directory; return that directory."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "a config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    command = [sys.executable, "-c", "from reel.cli import process; process()", "units", "--install"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    return tmp_path / "a config" / "systemd" / "user"


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run systemd's analysis on units of a user."""
    return subprocess.run(
        ["systemd-analyze", "--user", *arguments],
        env={**os.environ, "SYSTEMD_COLORS": "0"},
        text=True,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )


def test_they_start_the_reeld_beside_the_command(units: Path) -> None:
    """The installed units are the sections of the files in this repository, with the program beside the command."""
    ours = (_ROOT / "systemd" / "reeld.service").read_text()
    sections = ours[ours.index("\n[") + 1 :]

    assert (units / "reeld.service").read_text() == sections.replace(
        "ExecStart=%h/.local/bin/reeld\n", f'ExecStart="{Path(sys.executable).parent}/reeld"\n'
    )
    assert (_ROOT / "systemd" / "reeld.socket").read_text() == (units / "reeld.socket").read_text()


@_needs_systemd
def test_systemd_understands_them(units: Path) -> None:
    """systemd knows every setting of the units, and the program can be executed."""
    ran = analyze("verify", "--man=no", units / "reeld.service", units / "reeld.socket")

    assert (0, "") == (ran.returncode, ran.stderr)


@_needs_systemd
def test_exposure(units: Path) -> None:
    """The daemon has no more privileges than when this figure was written."""
    ran = analyze("security", "--offline=true", f"--threshold={_EXPOSURE}", units / "reeld.service")

    assert 0 == ran.returncode, ran.stdout.splitlines()[-1]
