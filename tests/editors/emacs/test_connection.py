"""The connection of Emacs: where the daemon is, how it is started, how it comes back."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reel.daemon.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.emacs.conftest import Shown
from tests.editors.emacs.driver import Emacs, Refused
from tests.patience import PATIENCE
from tests.planted import Planted

Start = Callable[..., Emacs]


def test_emacs_starts_the_daemon(prepared: Daemon, emacs: Emacs) -> None:
    """A command starts the daemon if it does not run."""
    emacs.command("reel-new", "demo")
    emacs.until(lambda: emacs.eval("reel-lines-name") == "demo")
    emacs.command("reel-send", "Hello")
    emacs.until(lambda: "Hello" in emacs.text())

    with prepared.client() as client:
        assert 1 == client.agent("demo").messages


def test_emacs_starts_the_daemon_in_an_untrusted_directory(
    prepared: Daemon, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon imports a module of the directory that Emacs was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    emacs = start(PYTHONPATH=Planted.PYTHONPATH)
    emacs.command("reel-new", "demo")
    emacs.until(lambda: emacs.eval("reel-lines-name") == "demo" or "not_running" in "".join(emacs.said()))

    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_emacs_finds_the_socket_of_the_settings_file(configured: Daemon, start: Start) -> None:
    """Without a variable, Emacs finds the daemon on the socket that reeld.toml names."""
    emacs = start()
    emacs.command("reel-new", "demo")
    emacs.until(lambda: emacs.eval("reel-lines-name") == "demo")
    emacs.command("reel-send", "Hello")
    emacs.until(lambda: "Hello" in emacs.text())

    with configured.client() as client:
        assert 1 == client.agent("demo").messages


def test_emacs_does_not_start_a_stopped_daemon(prepared: Daemon, emacs: Emacs) -> None:
    """A command does not start a daemon that was stopped with ``reel stop``, and says what does."""
    mark(prepared.socket)
    emacs.command("reel-new", "demo")

    emacs.until_said(
        f"No daemon answers on {prepared.socket}: reeld was stopped with `reel stop`; start it with `reel start`"
    )
    assert not Path(prepared.socket).exists()


def test_emacs_without_a_command_to_start(prepared: Daemon, emacs: Emacs) -> None:
    """If there is no program to start the daemon, the error says what to set."""
    emacs.eval('(setq reel-program "reel-of-nowhere")')
    emacs.command("reel-new", "demo")

    emacs.until_said(f"No daemon answers on {prepared.socket}, and there is no command reel-of-nowhere to start one")


def test_the_program_that_starts_the_daemon_fails(start: Start) -> None:
    """If the daemon does not start, the error has the last line of the program's output."""
    emacs = start(REEL_DATABASE="/dev/null/r.db")
    emacs.command("reel-new", "demo")

    emacs.until_said("/s.sock: reeld ended with status 4: reeld: cannot lock the database /dev/null/r.db")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_emacs_refuses_another_users_socket(daemon: Daemon, emacs: Emacs) -> None:
    """Nothing is sent to a socket of another user."""
    os.chown(daemon.socket, 12345, 12345)
    emacs.command("reel-open", "demo")

    emacs.until_said(f"{daemon.socket} belongs to another user (uid 12345); nothing was sent to it")
    os.chown(daemon.socket, 0, 0)


def test_a_restart_under_open_buffers_of_emacs(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """After the daemon was killed or stopped, open buffers continue with everything they missed."""
    for name in ("one", "two"):
        client.add(name, f"Hello {name}", create=True)
        emacs.command("reel-open", name)
        emacs.until_text(shown(name))
    for end in (daemon.kill, daemon.end):
        end()
        emacs.until(lambda: emacs.eval("reel-lines-state") == "away")
        emacs.until_said("the daemon went away; waiting for it to come back")
        daemon.start()
        emacs.until_said("the daemon is back")
        client.add("one", "to one")
        client.undo("two")
        client.add("two", ["to", "two"])
        emacs.until_text(shown("two"))
        emacs.command("reel-open", "one")
        emacs.until_text(shown("one"))
        emacs.command("reel-open", "two")
        emacs.until_text(shown("two"))

    emacs.until(lambda: emacs.eval("reel--retry") is None)
    assert 2 == emacs.eval("(length (reel--buffers))")


def test_an_older_log_is_read_again_by_emacs(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """If the log is replaced by an older backup, the conversation is read again."""
    client.add("demo", "one", create=True)
    daemon.end()
    restore = backup(daemon)
    daemon.start()
    client.add("demo", "two")
    emacs.command("reel-open", "demo")
    emacs.until_text(shown("demo"))
    daemon.end()
    restore()
    daemon.start()
    emacs.until_text(shown("demo"))
    client.add("demo", "three")

    emacs.until_text(shown("demo"))


def test_a_command_while_the_daemon_is_away(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """A command starts the missing daemon, and all buffers continue."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    emacs.until_text(shown("demo"))
    daemon.kill()
    emacs.until(lambda: emacs.eval("reel-lines-state") == "away")
    emacs.type("sstill there?\r")
    emacs.until_said("demo: added #3")

    emacs.until_text(shown("demo"))
    assert "still there?" in emacs.text()


def test_a_command_with_a_lost_reply_in_emacs(emacs: Emacs, client: Client) -> None:
    """A command that was lost with its connection is repeated with its key, and applied once."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "Hello" in emacs.text())
    emacs.eval(
        """(ignore (advice-add 'jsonrpc-async-request :after
              (lambda (&rest _)
                (advice-remove 'jsonrpc-async-request 'lose)
                (call-process "reel" nil nil nil "wait" "demo" "--since" "2") ; it is done, and not read
                (delete-process (jsonrpc--process reel-link--connection)))
              '((name . lose))))"""
    )
    emacs.type("sonce\r")
    emacs.until_said("demo: added #3")

    assert 2 == client.agent("demo").messages


def test_a_lost_reading_is_not_repeated_by_emacs(emacs: Emacs, client: Client) -> None:
    """A call that only reads is not repeated after its connection was lost."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "Hello" in emacs.text())
    emacs.eval(
        """(ignore (advice-add 'jsonrpc-async-request :after
              (lambda (&rest _)
                (advice-remove 'jsonrpc-async-request 'lose)
                (delete-process (jsonrpc--process reel-link--connection)))
              '((name . lose))))"""
    )
    emacs.type("i")

    emacs.until_said("the daemon went away before it answered facts")


def test_a_silent_daemon(emacs: Emacs, client: Client) -> None:
    """A command waits for a silent daemon until `reel-timeout`, or until C-g."""
    client.add("demo", "Hello", create=True)
    wait = '(reel-link-call \'wait :agent "demo" :since 99 :timeout 100000)'
    emacs.eval(f'(defun wait-long () (interactive) (message "=====") {wait})')
    with pytest.raises(Refused, match=r"No answer to wait from .* within 1 seconds"):
        emacs.eval(f"(let ((reel-timeout 1)) {wait})")
    emacs.command("wait-long")
    emacs.until_shown("=====")  # a C-g before that would end something else
    begun = time.monotonic()
    emacs.type("\x07")
    emacs.until_shown("Quit")  # to ask Emacs would run code in it, which the C-g would end instead

    assert time.monotonic() - begun < PATIENCE


def test_lost_connections_leave_no_buffers(emacs: Emacs, client: Client) -> None:
    """However often the connection was lost, only the buffers of one exist."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    for number in range(5):
        emacs.until(lambda: emacs.eval("reel-lines-state") is None)
        client.add("demo", f"message {number}")
        emacs.until(lambda: f"message {number}" in emacs.text())  # noqa: B023 - looked at right here
        emacs.eval("(ignore (delete-process (jsonrpc--process reel-link--connection)))")
        emacs.until(lambda: emacs.eval("reel-lines-state") == "away" or emacs.eval("reel-link--count") > number + 1)  # noqa: B023

    emacs.until(lambda: emacs.eval("(and (reel-link-up-p) (null reel-lines-state))") is True)
    left = emacs.eval('(seq-count (lambda (b) (string-match-p "reel-[0-9]" (buffer-name b))) (buffer-list))')
    assert left <= 3
