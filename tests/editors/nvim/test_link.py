"""The connection of Neovim: where the daemon is, how it is started, and which it refuses."""

import os
import socket
from pathlib import Path

import pytest

from reel.daemon.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.nvim.conftest import Launch
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened, shows
from tests.planted import Planted


def test_nvim_starts_the_daemon(launch: Launch, prepared: Daemon) -> None:
    """The first command starts the daemon if it does not run."""
    nvim = launch()
    nvim.command("Reel new demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")

    with prepared.client() as client:
        assert "demo" == client.agent("demo").name
    assert [] == nvim.notified()


def test_nvim_starts_the_daemon_in_an_untrusted_directory(
    launch: Launch, prepared: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon imports a module of the directory that Neovim was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    nvim = launch(more={"PYTHONPATH": Planted.PYTHONPATH})
    nvim.command("Reel new demo")
    nvim.until("vim.fn.bufname() == 'reel://demo' or notified")

    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_nvim_finds_the_socket_of_the_settings_file(configured: Daemon, launch: Launch) -> None:
    """Without a variable, Neovim finds the daemon on the socket that reeld.toml names."""
    nvim = launch()
    nvim.command("Reel new demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")

    with configured.client() as client:
        assert "demo" == client.agent("demo").name


def test_nvim_does_not_start_a_stopped_daemon(launch: Launch, prepared: Daemon) -> None:
    """A command does not start a daemon that was stopped with ``reel stop``, and says what does."""
    mark(prepared.socket)
    nvim = launch()
    nvim.command("Reel new demo")

    nvim.complains(
        f"no daemon answers on {prepared.socket}: reeld was stopped with `reel stop`; start it with `reel start`"
    )
    assert not Path(prepared.socket).exists()


def test_only_a_command_starts_an_ended_daemon(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """An open buffer does not start a daemon that has ended; the next command does."""
    client.create("demo")
    shows(opened(nvim), client)
    daemon.end()
    nvim.until("vim.fn.getline('$') == '*the daemon went away; waiting for it to come back*'")
    nvim.lua("vim.wait(600)")  # it has looked again and again by then
    assert not Path(daemon.socket).exists()
    nvim.command("Reel send again")

    nvim.shows("## user #2", "", "again", "")


def test_a_failing_callback_of_connect(nvim: Nvim) -> None:
    """A callback of ``connect`` that fails does not keep the others from being called."""
    nvim.lua(
        """local connect = require('reel').connect
        connect(function() error('bad', 0) end)
        connect(function() up = true end)"""
    )
    nvim.until("up")

    assert ["bad"] == nvim.notified()


def test_nvim_without_a_command_to_start(launch: Launch, prepared: Daemon) -> None:
    """If the daemon cannot be started, the error is one line with the reason."""
    nvim = launch()
    nvim.lua("require('reel').setup{command = 'no-such-reel'}")
    nvim.command("Reel new demo")
    missing = "there is no command no-such-reel to start one; see :checkhealth reel"
    nvim.complains(f"no daemon answers on {prepared.socket}, and {missing}")
    nvim.lua("require('reel').setup{command = 'reel'}")
    Path(prepared.database).write_text("no database at all, and long enough to be taken for one " * 100)
    nvim.command("Reel new demo")
    nvim.complains(f"no daemon answers on {prepared.socket}: reeld ended with status 4: ")

    nvim.command("checkhealth reel")
    assert "reeld ended with status 4: " in "\n".join(nvim.lines())
    assert "\n" not in "".join(nvim.notified())


def test_nvim_refuses_an_unsafe_socket(launch: Launch, prepared: Daemon, directory: Path) -> None:
    """A path that is not a socket, or not the user's own, is refused before anything is sent."""
    nvim = launch()
    Path(prepared.socket).write_text("")
    nvim.command("Reel list")
    nvim.complains(f"{prepared.socket} is not a socket")
    Path(prepared.socket).unlink()
    if os.getuid() == 0:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(prepared.socket)
            os.chown(prepared.socket, 12345, -1)
            nvim.command("Reel list")
            nvim.complains(f"{prepared.socket} belongs to another user (uid 12345)")
    (directory / "real").mkdir(mode=0o755)
    (directory / "link").symlink_to(directory / "real")
    fallback = "vim.loop.fs_lstat = function() return lstat(a) end"
    for name, line in (("link", "is not a directory; remove it"), ("real", "is open to others; remove it")):
        nvim.lua(f"lstat, a = lstat or vim.loop.fs_lstat, ...; {fallback}", str(directory / name))
        assert line in nvim.lua(
            "return require('reel.address').problem(('/tmp/reel-%d/reel.sock'):format(vim.loop.getuid()))"
        )


def test_a_daemon_that_does_not_reply_to_the_greeting(launch: Launch, prepared: Daemon) -> None:
    """A listener that does not reply to the greeting is given up after ten seconds, which pass at once here."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(prepared.socket)
        silent.listen()
        nvim = launch()
        nvim.lua(
            """local timer = getmetatable(vim.loop.new_timer()).__index
            local start = timer.start
            timer.start = function(self, after, ...) return start(self, after == 10000 and 1 or after, ...) end"""
        )
        nvim.command("Reel list")

        nvim.complains(f"the daemon on {prepared.socket} does not answer")


def test_another_version_of_the_protocol(nvim: Nvim) -> None:
    """A daemon with another version of the protocol names its version."""
    nvim.lua(
        """local notify = vim.rpcnotify
        vim.rpcnotify = function(channel, name, params)
          if params.method == 'hello' then params.params.protocol = {min = 2, max = 3} end
          return notify(channel, name, params)
        end"""
    )
    nvim.command("Reel list")

    nvim.complains("reeld speaks protocol 1, the client 2 to 3")
