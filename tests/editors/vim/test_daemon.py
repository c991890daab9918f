"""The daemon under Vim: where it is, how it is started, how it comes back."""

import os
from pathlib import Path

import pytest

from reel.daemon.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.texts import texts
from tests.editors.vim.driver import PLUGIN, Start, Vim
from tests.planted import Planted


def test_a_restart_under_open_buffers_of_vim(vim: Vim, daemon: Daemon) -> None:
    """After a restart of the daemon, open buffers have missed nothing and continue."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        client.add("other", "eins", create=True)
        vim.run("Reel open other", "Reel open demo")
        vim.shows("## user #2", "one")
        vim.until(lambda: (client.agent("demo").attached, client.agent("other").attached), (1, 1))
    daemon.kill()
    vim.until(lambda: vim.said()[-1:], ["the daemon went away; waiting for it to come back"])
    with daemon.start().client() as client:
        vim.until(lambda: vim.said()[-1:], ["the daemon is back"])
        client.add("demo", "two")
        client.add("other", "zwei")
        vim.shows("## user #2", "one", "## user #3", "two")
        vim.run("Reel send three", "Reel send four")
        vim.shows("## user #2", "one", "## user #3", "two", "## user #4", "three", "## user #5", "four")
        vim.run("buffer reel://other")
        vim.shows("## user #2", "eins", "## user #3", "zwei")


def test_no_reconnection_without_open_conversations(vim: Vim, client: Client, daemon: Daemon) -> None:
    """Vim tries to reconnect only as long as a conversation is open."""
    client.create("demo")
    vim.run("Reel open demo", "bdelete")
    daemon.kill()
    vim.until(lambda: vim.eval("reel#link#IsOpen()"), expected=False)

    assert (0, []) == (vim.eval("len(timer_info())"), vim.said())


def test_drafts_end_with_the_connection(vim: Vim, daemon: Daemon) -> None:
    """A draft disappears when the connection is lost."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        vim.run("Reel open demo")
        vim.until(lambda: client.agent("demo").attached, 1)
        client.draft("demo", "two")
        vim.until(lambda: vim.lines()[-2:-1], ["two"])
        daemon.end()
    daemon.start()
    vim.shows("## user #2", "one")


def test_an_older_log_is_read_again_by_vim(vim: Vim, daemon: Daemon) -> None:
    """If the log is replaced by an older backup, the conversation is read again."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        daemon.end()
        restore = backup(daemon)
    with daemon.start().client() as client:
        client.add("demo", "two")
        vim.run("Reel open demo")
        vim.shows("## user #2", "one", "## user #3", "two")
        daemon.end()
    restore()
    daemon.start()
    vim.shows("## user #2", "one")


def test_vim_starts_the_daemon(start_vim: Start, prepared: Daemon) -> None:
    """The first command starts the daemon if it does not run."""
    vim = start_vim()
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")

    with prepared.client() as client:
        assert ["one"] == texts(client)


def test_vim_starts_the_daemon_in_an_untrusted_directory(
    start_vim: Start, prepared: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon imports a module of the directory that Vim was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    start_vim(PYTHONPATH=Planted.PYTHONPATH).run("Reel new demo")

    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_vim_finds_the_socket_of_the_settings_file(configured: Daemon, start_vim: Start) -> None:
    """Without a variable, Vim finds the daemon on the socket that reeld.toml names."""
    start_vim().run("Reel new demo")

    with configured.client() as client:
        assert "demo" == client.agent("demo").name


def test_vim_does_not_start_a_stopped_daemon(start_vim: Start, prepared: Daemon) -> None:
    """A command does not start a daemon that was stopped with ``reel stop``, and says what does."""
    mark(prepared.socket)

    assert "reeld was stopped with `reel stop`; start it with `reel start`" in start_vim().run("Reel new demo")
    assert not Path(prepared.socket).exists()


def test_vim_without_a_command_to_start(start_vim: Start, prepared: Daemon) -> None:
    """If the daemon cannot be started, the error says why and what to do."""
    vim = start_vim(PATH="/usr/bin:/bin")

    assert (
        f"no daemon answers on {prepared.socket}, and there is no command reel to start one: "
        "install reel as its README says, or set g:reel_command"
    ) == vim.run("Reel list")
    assert f"no daemon answers on {prepared.socket}: Try '/bin/ls --help' " in vim.run(
        "let g:reel_command = '/bin/ls'", "Reel list"
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_vim_refuses_another_users_socket(start_vim: Start, daemon: Daemon) -> None:
    """Vim does not connect to a socket of another user."""
    os.chown(daemon.socket, 12345, -1)
    vim = start_vim()
    flaw = f"{daemon.socket} is not a socket of your own"

    assert f"{flaw}; remove it, or set $REEL_SOCKET to another" == vim.run("Reel list")


def test_an_unsafe_fallback_directory(start_vim: Start, directory: Path) -> None:
    """A fallback directory that is a link, or open to others, is refused."""
    (directory / "real").mkdir(mode=0o700)
    (directory / "link").symlink_to("real")
    script = directory / "flaw.vim"
    script.write_text(f"vim9script\nimport '{PLUGIN}/autoload/reel/socket.vim'\ng:Flaw = socket.DirectoryFlaw\n")
    vim = start_vim()
    vim.run(f"source {script}")

    assert "" == vim.eval(f"g:Flaw('{directory}/real')")
    remedy = "is not a directory that only you can enter; remove it, or set $REEL_SOCKET"
    assert f"not_running: {directory}/link {remedy}" == vim.eval(f"g:Flaw('{directory}/link')")
    (directory / "real").chmod(0o777)
    assert f"not_running: {directory}/real {remedy}" == vim.eval(f"g:Flaw('{directory}/real')")


@pytest.mark.parametrize(
    ("given", "runtime", "expected"),
    [
        ("/a/b", "/run/x", "/a/b"),
        ("", "/run/x", "/run/x/reel/reel.sock"),
        ("", "", f"/tmp/reel-{os.getuid()}/reel.sock"),
    ],
)
def test_the_socket_path_in_vim(start_vim: Start, directory: Path, given: str, runtime: str, expected: str) -> None:
    """The path of the socket is the one that the daemon uses."""
    script = directory / "path.vim"
    script.write_text(f"vim9script\nimport '{PLUGIN}/autoload/reel/socket.vim'\ng:path = socket.Path()\n")
    vim = start_vim(REEL_SOCKET=given, XDG_RUNTIME_DIR=runtime)
    vim.run(f"source {script}")

    assert expected == vim.eval("g:path")
