"""The environment decides where files are, and there are defaults without it."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from reel.base.errors import NotRunning
from reel.daemon.address import MAX_PATH, default_database, default_socket, state_directory


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove the variables, and set the home directory."""
    for name in ("REEL_SOCKET", "REEL_DATABASE", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/zed")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"REEL_SOCKET": "/a.sock"}, "/a.sock"),
        ({"REEL_SOCKET": "/a.sock", "XDG_RUNTIME_DIR": "/run/user/7"}, "/a.sock"),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/reel/reel.sock"),
        ({"REEL_SOCKET": "", "XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/reel/reel.sock"),
        ({}, f"/tmp/reel-{os.getuid()}/reel.sock"),
        ({"REEL_SOCKET": "", "XDG_RUNTIME_DIR": ""}, f"/tmp/reel-{os.getuid()}/reel.sock"),
    ],
)
def test_the_socket(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str) -> None:
    """Reel's own variable comes before the runtime directory, and that before /tmp; an empty one counts as unset."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert expected == default_socket()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"REEL_DATABASE": "/a.db"}, "/a.db"),
        ({"REEL_DATABASE": "/a.db", "XDG_STATE_HOME": "/state"}, "/a.db"),
        ({"XDG_STATE_HOME": "/state"}, "/state/reel/reel.db"),
        ({"REEL_DATABASE": "", "XDG_STATE_HOME": "/state"}, "/state/reel/reel.db"),
        ({}, "/home/zed/.local/state/reel/reel.db"),
        ({"XDG_STATE_HOME": ""}, "/home/zed/.local/state/reel/reel.db"),
    ],
)
def test_the_database(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str) -> None:
    """Reel's own variable takes precedence over the state directory, and that over the one at home."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert expected == default_database()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the daemon's settings are."""
    (tmp_path / "reel").mkdir()
    return tmp_path / "reel" / "reeld.toml"


def test_the_daemons_settings(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the daemon reads in its file, its clients read there, too; their variables go before it."""
    file.write_text('socket = "~/s.sock"\ndatabase = "/d/r.db"\nlog_level = "debug"\n')
    assert ("/home/zed/s.sock", "/d/r.db") == (default_socket(), default_database())
    monkeypatch.setenv("REEL_SOCKET", "/a.sock")
    monkeypatch.setenv("REEL_DATABASE", "/a.db")

    assert ("/a.sock", "/a.db") == (default_socket(), default_database())


def test_settings_with_a_byte_order_mark(file: Path) -> None:
    """Windows editors begin a file with one, which is not part of the first key."""
    file.write_bytes(b'\xef\xbb\xbfsocket = "/run/me.sock"\n')

    assert "/run/me.sock" == default_socket()


def test_other_settings(file: Path) -> None:
    """A file that names no socket leaves it where it is."""
    file.write_text("[agents]\nmax_live = 7\n")

    assert f"/tmp/reel-{os.getuid()}/reel.sock" == default_socket()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"socket = ", "Invalid value (at end of document)"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b'socket = "s.sock"', "socket: 's.sock' is not an absolute path"),
        (b"socket = 7", "socket: 7 is not an absolute path"),
    ],
)
def test_an_invalid_settings_file(file: Path, text: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid reeld.toml is an error that says how to name the socket in another way."""
    file.write_bytes(text)
    with pytest.raises(NotRunning) as error:
        default_socket()
    assert f"{file}: {reason}; correct it, or name the socket with --socket or $REEL_SOCKET" == error.value.message
    monkeypatch.setenv("REEL_SOCKET", "/a.sock")

    assert "/a.sock" == default_socket()


def test_settings_that_are_no_file(file: Path) -> None:
    """Why they cannot be read is said."""
    file.mkdir()

    with pytest.raises(NotRunning, match=f"{file}: Is a directory; "):
        default_socket()


def test_the_state_directory_is_not_moved_with_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database in another place leaves the log where it was."""
    monkeypatch.setenv("REEL_DATABASE", "/a.db")

    assert "/home/zed/.local/state/reel" == state_directory()


def test_the_longest_path() -> None:
    """The longest path that we accept is the longest that the system accepts."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, socket.socket(socket.AF_UNIX) as listener:
        longest = f"{directory}/".ljust(MAX_PATH, "x")
        with pytest.raises(OSError, match="too long"):
            listener.bind(f"{longest}x")

        listener.bind(longest)
        assert longest == listener.getsockname()
