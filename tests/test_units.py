"""The systemd units are valid, restrictive, and installed for the right program."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reel.cli.commands.shared.unit_files import import_files
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE
from tests.reel.importing.transcripts import Transcript

_ROOT = Path(__file__).parent.parent
_needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
_NAMES = ("reeld.service", "reeld.socket", "reel-import.service")
# In tenths. Offline, systemd rates the user manager as root, and this figure leaves out namespaces.
_EXPOSURE = 61


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the units for a temporary user directory; return that directory."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "a config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    # It would give orders to the manager of whoever runs the tests.
    stand_in(tmp_path / "bin" / "systemctl")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", '/a "b" $c 100%\\d\ne')
    command = [sys.executable, "-c", "from reel.cli import process; process()", "units", "--import"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    return tmp_path / "a config" / "systemd" / "user"


def stand_in(program: Path) -> None:
    """Write a program that does nothing, successfully."""
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)


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


def test_they_start_the_reel_beside_the_command(units: Path) -> None:
    """The unit that imports has the program beside the command, and the places that the shell knows, as they are."""
    lines = (units / "reel-import.service").read_text().splitlines()

    assert f'ExecStart="{Path(sys.executable).parent}/reel" import --yes --watch' in lines
    assert r'''Environment="CLAUDE_CONFIG_DIR=/a \"b\" $c 100%%\\d\ne"''' in lines
    assert f'Environment="XDG_CONFIG_HOME={units.parent.parent}"' in lines
    assert [] == [line for line in lines if line.startswith(('Environment="HOME', 'Environment="PWD'))]


@_needs_systemd
def test_systemd_understands_them(units: Path) -> None:
    """systemd knows every setting of the units, and the program can be executed."""
    ran = analyze("verify", "--man=no", *(units / name for name in _NAMES))

    assert (0, "") == (ran.returncode, ran.stderr)


def test_the_daemon_outlives_its_processes(units: Path) -> None:
    """If memory runs out and the process that fills the search index has to go, systemd does not stop the daemon."""
    assert "OOMPolicy=continue" in (units / "reeld.service").read_text().splitlines()


@_needs_systemd
def test_exposure(units: Path) -> None:
    """The daemon and the import have no more privileges than when this figure was written."""
    services = (units / name for name in _NAMES if name.endswith(".service"))
    ran = analyze("security", "--offline=true", f"--threshold={_EXPOSURE}", *services)

    assert 0 == ran.returncode, ran.stdout.splitlines()[-1]


@pytest.mark.slow
def test_the_line_that_imports(tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in the unit imports, with nothing but the environment in the unit."""
    daemon = ForkedDaemon(directory).start()
    for name, value in {
        "HOME": tmp_path,
        "XDG_STATE_HOME": tmp_path / "a %state",
        "REEL_SOCKET": daemon.socket,
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    Transcript("s1").user("u1", "Hi").write(tmp_path / ".claude/projects/-home-me/s1.jsonl")
    ((_, text),) = import_files(os.environ).items()
    given = dict(
        line.split("=", 1) for line in re.findall(r'^Environment="(.*)"$', text.replace("%%", "%"), re.MULTILINE)
    )
    (command,) = re.findall("^ExecStart=(.*)$", text, re.MULTILINE)

    with subprocess.Popen(
        shlex.split(command.replace("%%", "%")), env={"HOME": str(tmp_path), **given}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert "Claude Code: 1 conversation imported; 1 message\n" in lines
        process.kill()
    with daemon.client() as client:
        assert 1 == client.agent("claude-code/s1").messages
    daemon.close()
    assert (tmp_path / "a %state/reel/readings.json").exists()
