"""The daemon under VS Code: where it is, how it is started, how it comes back."""

from pathlib import Path

import pytest

from reel.daemon.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.vscode.driver import VSCode, laid
from tests.planted import Planted


def test_vs_code_starts_the_daemon(prepared: Daemon, editor: VSCode) -> None:
    """The first command starts the daemon if it does not run."""
    editor.run("new", "demo")
    editor.run("send", "hello")

    editor.shows("demo", "hello")
    with prepared.client() as client:
        assert 1 == client.agent("demo").messages


def test_vs_code_starts_the_daemon_in_an_untrusted_directory(
    built: Path, environment: dict[str, str], prepared: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon imports a module of the directory that VS Code was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    editor = VSCode(built, environment | {"PYTHONPATH": Planted.PYTHONPATH})
    editor.ask("run", command="new", given="demo")

    assert 0 == editor.close()
    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_vs_code_uses_the_socket_of_the_settings(configured: Daemon, built: Path, environment: dict[str, str]) -> None:
    """Without a variable, the extension finds the daemon on the socket that reeld.toml names."""
    editor = VSCode(built, environment)
    editor.run("new", "demo")

    with configured.client() as client:
        assert "demo" == client.agent("demo").name
    assert 0 == editor.close()


def test_vs_code_does_not_start_a_stopped_daemon(prepared: Daemon, editor: VSCode) -> None:
    """A command does not start a daemon that was stopped with ``reel stop``, and says what does."""
    mark(prepared.socket)

    assert "reeld was stopped with `reel stop`; start it with `reel start`" in editor.refused("open", "demo")
    assert not Path(prepared.socket).exists()


def test_vs_code_without_a_command_to_start(built: Path, environment: dict[str, str], directory: Path) -> None:
    """If the daemon cannot be started, the error says why and what to do; it is tried once."""
    editor = VSCode(built, environment | {"SETTING_command": "reel-is-not-here"})
    tries, command = directory / "tries", directory / "command"
    command.write_text(f"#!/bin/sh\necho >> {tries}; exit 1\n")
    command.chmod(0o700)
    other = VSCode(built, environment | {"SETTING_command": str(command)})

    assert " no command reel-is-not-here to start one: install reel as its README says" in editor.refused(
        "open", "demo"
    )
    assert other.refused("open", "demo").endswith(f": {command} start ended with status 1")
    assert "\n" == tries.read_text()
    assert 0 == other.close()
    assert 0 == editor.close()


def test_the_error_of_a_daemon_that_cannot_start(built: Path, environment: dict[str, str], directory: Path) -> None:
    """The error has the last line that the daemon printed."""
    editor = VSCode(built, environment | {"REEL_DATABASE": str(directory)})

    assert "/s.sock: reeld ended with status " in editor.refused("open", "demo")
    assert 0 == editor.close()


def test_an_older_log_is_read_again_by_vs_code(daemon: Daemon, client: Client, editor: VSCode) -> None:
    """If the log is replaced by an older backup, the conversation is read again."""
    client.add("demo", "one", create=True)
    daemon.end()
    restore = backup(daemon)
    daemon.start()
    client.add("demo", "two")
    editor.run("open", "demo")
    daemon.end()
    restore()
    daemon.start()
    editor.shows("demo", "two", gone=True)
    client.add("demo", "three")

    assert laid(("user #2", "one"), ("user #3", "three")) == editor.shows("demo", "three")


def test_vs_code_refuses_an_unsafe_socket(built: Path, environment: dict[str, str], directory: Path) -> None:
    """The extension does not connect, and starts nothing, where others may listen."""
    directory.chmod(0o777)
    editor = VSCode(built, environment)
    line = editor.refused("open", "demo")
    directory.chmod(0o700)

    assert f"others may write to {directory}; chmod go-w {directory}" == line
    assert 0 == editor.close()
