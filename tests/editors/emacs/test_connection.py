"""A connection is found, made, lost and found again; what cannot be is said in one line."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reel.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import PATIENCE, Daemon
from tests.editors.backup import backup
from tests.editors.emacs.conftest import Shown
from tests.editors.emacs.driver import Emacs, Refused
from tests.planted import Planted

Start = Callable[..., Emacs]


def test_the_daemon_is_started(prepared: Daemon, emacs: Emacs) -> None:
    """Where no daemon runs, a command starts one."""
    emacs.command("reel-new", "demo")
    emacs.command("reel-send", "Hello")
    emacs.until(lambda: "Hello" in emacs.text())

    with prepared.client() as client:
        assert 1 == client.agent("demo").messages


def test_the_daemon_is_started_in_a_directory_of_others(
    prepared: Daemon, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon runs a module of the directory that Emacs was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    emacs = start(PYTHONPATH=Planted.PYTHONPATH)
    emacs.command("reel-new", "demo")
    emacs.until(lambda: Path(prepared.socket).exists() or "not_running" in "".join(emacs.said()))

    assert [] == planted.imported()


def test_the_socket_of_the_settings(configured: Daemon, start: Start) -> None:
    """Without a variable, the plug-in finds the daemon where reeld.toml says."""
    emacs = start()
    emacs.command("reel-new", "demo")
    emacs.command("reel-send", "Hello")
    emacs.until(lambda: "Hello" in emacs.text())

    with configured.client() as client:
        assert 1 == client.agent("demo").messages


def test_a_daemon_that_was_stopped_on_purpose(prepared: Daemon, emacs: Emacs) -> None:
    """A command does not start it, and says who can."""
    mark(prepared.socket)
    emacs.command("reel-new", "demo")

    emacs.until_said(
        f"No daemon answers on {prepared.socket}: reeld was stopped with `reel stop`; start it with `reel start`"
    )
    assert not Path(prepared.socket).exists()


def test_there_is_no_command(prepared: Daemon, emacs: Emacs) -> None:
    """Where it cannot be started, the line says what to do."""
    emacs.eval('(setq reel-program "reel-of-nowhere")')
    emacs.command("reel-new", "demo")

    emacs.until_said(f"No daemon answers on {prepared.socket}, and there is no command reel-of-nowhere to start one")


def test_the_command_fails(start: Start) -> None:
    """Where it does not come up, the line says what the command said."""
    emacs = start(REEL_DATABASE="/dev/null/r.db")
    emacs.command("reel-new", "demo")

    emacs.until_said("/s.sock: reeld ended with status 4: reeld: cannot lock the database /dev/null/r.db")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_another_users_socket(daemon: Daemon, emacs: Emacs) -> None:
    """Nothing is said to a socket that is not ours."""
    os.chown(daemon.socket, 12345, 12345)
    emacs.command("reel-open", "demo")

    emacs.until_said(f"{daemon.socket} belongs to another user (uid 12345); nothing was sent to it")
    os.chown(daemon.socket, 0, 0)


def test_the_daemon_comes_back(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """Open buffers go on by themselves after the daemon was killed or stopped, with what was said meanwhile."""
    for name in ("one", "two"):
        client.add(name, "Hello", create=True)
        emacs.command("reel-open", name)
    emacs.until_text(shown("two"))
    for end in (daemon.kill, daemon.end):
        end()
        emacs.until(lambda: emacs.eval("reel-copy-state") == "away")
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


def test_another_log(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """Where an older log is put in the place of the one that was known, the conversation is read again."""
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


def test_a_command_while_it_is_away(daemon: Daemon, emacs: Emacs, shown: Shown, client: Client) -> None:
    """A command that finds the daemon gone starts it, and all buffers are live again."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    emacs.until_text(shown("demo"))
    daemon.kill()
    emacs.type("sstill there?\r")
    emacs.until_said("demo: added #3")

    emacs.until_text(shown("demo"))
    assert "still there?" in emacs.text()


def test_a_command_is_not_done_twice(emacs: Emacs, client: Client) -> None:
    """A command that was lost with its connection is sent again under its key."""
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


def test_it_does_not_answer(emacs: Emacs, client: Client) -> None:
    """A daemon that is silent is not waited for longer than was said, and C-g ends it before."""
    client.add("demo", "Hello", create=True)
    wait = '(reel-link-call \'wait :agent "demo" :since 99 :timeout 100000)'
    emacs.eval(f'(defun wait-long () (interactive) (message "waiting") {wait})')
    with pytest.raises(Refused, match=r"No answer to wait from .* within 1 seconds"):
        emacs.eval(f"(let ((reel-timeout 1)) {wait})")
    emacs.command("wait-long")
    begun = time.monotonic()
    emacs.type("\x07")
    emacs.until_said("Quit")

    assert time.monotonic() - begun < PATIENCE


def test_nothing_is_left_behind(emacs: Emacs, client: Client) -> None:
    """However often the connection was lost, there are the buffers of one."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")
    for number in range(5):
        emacs.until(lambda: emacs.eval("reel-copy-state") is None)
        client.add("demo", f"message {number}")
        emacs.until(lambda: f"message {number}" in emacs.text())  # noqa: B023 - looked at right here
        emacs.eval("(ignore (delete-process (jsonrpc--process reel-link--connection)))")
        emacs.until(lambda: emacs.eval("reel-copy-state") == "away" or emacs.eval("reel-link--count") > number + 1)  # noqa: B023

    emacs.until(lambda: emacs.eval("(and (reel-link-up-p) (null reel-copy-state))") is True)
    left = emacs.eval('(seq-count (lambda (b) (string-match-p "reel-[0-9]" (buffer-name b))) (buffer-list))')
    assert left <= 3
