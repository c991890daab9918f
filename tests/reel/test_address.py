"""Where things are is told by the environment, and has an answer without it."""

import os
import socket
import tempfile

import pytest

from reel.address import MAX_PATH, default_database, default_socket, state_directory


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any of the variables, at home in a place of its own."""
    for name in ("REEL_SOCKET", "REEL_DATABASE", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/zed")


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
    """The own variable goes before the runtime directory, and that before /tmp; an empty one is none."""
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
    """The own variable goes before the state directory, and that before the one at home."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert expected == default_database()


def test_the_state_directory_is_not_moved_with_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database elsewhere leaves the log where it was."""
    monkeypatch.setenv("REEL_DATABASE", "/a.db")

    assert state_directory() == "/home/zed/.local/state/reel"


def test_the_longest_path() -> None:
    """The longest path is the longest that the system takes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, socket.socket(socket.AF_UNIX) as listener:
        longest = f"{directory}/".ljust(MAX_PATH, "x")
        with pytest.raises(OSError, match="too long"):
            listener.bind(f"{longest}x")

        listener.bind(longest)
        assert longest == listener.getsockname()
