"""``reel editor``, ``reel units`` and ``reel completion --install``: this installation and the rest of the system."""

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
