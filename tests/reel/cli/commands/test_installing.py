"""``reel editor``, ``reel units`` and ``reel completion --install``: this installation and the rest of the system."""

import os
import plistlib
import sys
from pathlib import Path

import pytest

from tests.reel.cli.conftest import Reel

_EDITORS = Path(__file__).parents[4] / "client" / "editors"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "BASH_COMPLETION_USER_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("editor", ["nvim", "vim", "emacs"])
def test_lines_for_an_editor(reel: Reel, editor: str) -> None:
    """The lines for its configuration have the path of its plug-in, which ``--path`` prints alone."""
    plug_in = str(_EDITORS / editor)

    assert plug_in in reel("editor", editor).out
    assert f"{plug_in}\n" == reel("editor", editor, "--path").out


def test_an_editor_that_is_unknown(reel: Reel) -> None:
    """The error names the editors that have a plug-in."""
    ran = reel("editor", "nano")

    assert 2 == ran.status
    assert "'nano' is not an editor that reel knows; expected one of nvim, vim, emacs, vscode" in ran.err


def test_installed_units_start_the_reeld_beside_the_command(reel: Reel, home: Path) -> None:
    """The units are where systemd looks for those of a user, and the next step is printed."""
    said = reel("units", "--install").out

    unit = (home / ".config" / "systemd" / "user" / "reeld.service").read_text()
    assert f'ExecStart="{Path(sys.executable).parent}/reeld"' in unit.splitlines()
    assert unit.startswith("[Unit]\n")
    assert "next: systemctl --user daemon-reload" in said


def test_printed_units_are_not_installed(reel: Reel, home: Path) -> None:
    """Without ``--install`` the units are only printed."""
    assert "ListenStream=%t/reel/reel.sock\n" in reel("units").out
    assert [] == list(home.iterdir())


def test_units_where_they_cannot_be_written(reel: Reel, home: Path) -> None:
    """The error names the file and the reason."""
    (home / ".config").write_text("a file")

    ran = reel("units", "--install")

    assert 2 == ran.status
    assert "reeld.service cannot be written: Not a directory" in ran.err


def test_the_agent_of_launchd(reel: Reel, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Mac the file is for launchd, which starts the daemon at login and after a crash."""
    monkeypatch.setattr(sys, "platform", "darwin")

    said = reel("units", "--install").out

    (file,) = (home / "Library" / "LaunchAgents").iterdir()
    agent = plistlib.loads(file.read_bytes())
    assert [f"{Path(sys.executable).parent}/reeld"] == agent["ProgramArguments"]
    assert "next: launchctl bootstrap gui/" in said
    assert str(file) in said


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for systemctl and launchctl, which fails at the order in $FAILS_AT; the file with its orders."""
    script = """#!/bin/sh
        echo "$@" >> "$ORDERS"
        case "$*" in $FAILS_AT) echo "no bus" >&2; exit 1;; esac
    """
    (tmp_path / "bin").mkdir()
    for name in ("systemctl", "launchctl"):
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("ORDERS", str(tmp_path / "orders"))
    monkeypatch.setenv("FAILS_AT", "none")
    return tmp_path / "orders"


_UNIT = ".config/systemd/user/reel-import.service"
_INSTALLED = [
    "--user daemon-reload",
    "--user enable reeld.socket reel-import.service",
    "--user restart reel-import.service",
]


def test_a_unit_that_imports(reel: Reel, home: Path, orders: Path) -> None:
    """It is installed with those of the daemon, and started; what happens at a logout is said."""
    ran = reel("units", "--import")

    assert (0, "") == (ran.status, ran.err)
    assert _INSTALLED == orders.read_text().splitlines()
    assert {"reeld.service", "reeld.socket", "reel-import.service"} == {
        path.name for path in (home / _UNIT).parent.iterdir()
    }
    assert "loginctl enable-linger" in ran.out


def test_a_supervisor_that_refuses(reel: Reel, home: Path, orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit stays, the reason is printed, and what is left to do."""
    monkeypatch.setenv("FAILS_AT", "*enable*")

    ran = reel("units", "--import")

    assert 1 == ran.status
    assert "systemctl --user enable reeld.socket reel-import.service: no bus\n" in ran.err
    assert ran.out.endswith(
        "next: systemctl --user enable reeld.socket reel-import.service"
        " && systemctl --user restart reel-import.service\n"
    )
    assert (home / _UNIT).exists()
    assert _INSTALLED[:2] == orders.read_text().splitlines()


def test_no_supervisor(reel: Reel, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without systemd, the unit is written, and it is said that nothing starts it."""
    monkeypatch.setenv("PATH", str(home))

    ran = reel("units", "--import")

    assert 1 == ran.status
    assert "systemctl --user daemon-reload: it is not installed here" in ran.err


def test_a_unit_that_is_removed(reel: Reel, home: Path, orders: Path) -> None:
    """It is ended, and its file goes; the daemon's units stay."""
    reel("units", "--import")
    orders.unlink()

    ran = reel("units", "--import", "--remove")

    assert (0, f"removed {home / _UNIT}\n", "") == ran
    assert ["--user disable --now reel-import.service", "--user daemon-reload"] == orders.read_text().splitlines()
    assert (home / _UNIT).with_name("reeld.service").exists()
    assert (1, "") == reel("units", "--import", "--remove")[:2]


def test_only_the_import_is_removed(reel: Reel) -> None:
    """Without ``--import`` it is not clear what to remove."""
    assert 2 == reel("units", "--remove").status


def test_an_import_for_launchd(reel: Reel, home: Path, orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Mac launchd starts the import at login and whenever it has ended, with the places that the shell knows."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")

    ran = reel("units", "--import")

    file = home / "Library" / "LaunchAgents" / "io.reel.import.plist"
    agent = plistlib.loads(file.read_bytes())
    assert (0, "") == (ran.status, ran.err)
    assert [f"{Path(sys.executable).parent}/reel", "import", "--yes", "--watch"] == agent["ProgramArguments"]
    assert (True, 30) == (agent["KeepAlive"], agent["ThrottleInterval"])
    assert "/elsewhere" == agent["EnvironmentVariables"]["CODEX_HOME"]
    assert f"bootstrap gui/{os.getuid()} {file}" == orders.read_text().splitlines()[-1]
    assert 0 == reel("units", "--import", "--remove").status
    assert not file.exists()


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".local/share/bash-completion/completions/reel"),
        ("zsh", ".local/share/zsh/site-functions/_reel"),
        ("fish", ".config/fish/completions/reel.fish"),
    ],
)
def test_completion_of_the_users_shell(
    reel: Reel, home: Path, monkeypatch: pytest.MonkeyPatch, shell: str, place: str
) -> None:
    """The script for $SHELL is written where that shell looks for it."""
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")

    said = reel("completion", "--install").out

    assert reel("completion", shell).out == (home / place).read_text()
    assert f"installed {home / place}\n" in said


def test_completion_without_a_shell(reel: Reel, monkeypatch: pytest.MonkeyPatch) -> None:
    """If $SHELL is not set either, the error asks for a name."""
    monkeypatch.delenv("SHELL", raising=False)

    assert "$SHELL is not set; name a shell: bash, zsh, fish" in reel("completion").err
