"""``reel attach``: a prompt in a conversation that something else answers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.forkserver import running_daemon
from tests.reel.cli.conftest import Reel
from tests.reel.cli.tmux import Tmux

_REEL = Path(sys.executable).parent / "reel"


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    """A terminal emulator in which nothing runs yet."""
    program = shutil.which("tmux") or pytest.skip("tmux is not installed")
    given = {"LC_ALL": "C.UTF-8", "TERM": "xterm", "HOME": str(tmp_path), "PATH": f"{_REEL.parent}:/usr/bin:/bin"}
    found = Tmux(program, tmp_path / "tmux", {**os.environ, **given})
    yield found
    with suppress(subprocess.CalledProcessError):
        found.run("kill-server")


def attach(tmux: Tmux, socket: str, name: str) -> None:
    """Attach to a conversation in the terminal, which says the exit status at the end."""
    command = f"trap : INT; reel --socket {socket} attach {name}; echo left $?; read line"
    tmux.run("new-session", "-d", "-x", "80", "-y", "40", f"sh -c {command!r}")
    tmux.shows("demo>")


def typed(tmux: Tmux, text: str, *keys: str) -> None:
    """Type a text, and then keys."""
    tmux.run("send-keys", "-l", text)
    for key in keys:
        tmux.run("send-keys", key)


@pytest.mark.slow
def test_talking_with_others(tmux: Tmux) -> None:
    """What others say comes as it is written, and what is typed is added once; a line that is typed stays."""
    with running_daemon() as daemon, daemon.client() as other:
        other.create("demo")
        other.add("demo", ["What is a tape deck?", {"role": "assistant", "content": "A machine."}])
        attach(tmux, daemon.socket, "demo")
        tmux.shows("demo  2 messages", "  A machine.")

        typed(tmux, "And a reel?", "Enter")
        tmux.ends_with("demo> And a reel?", "", "demo>")
        assert "And a reel?" == other.messages("demo", last=1).messages[0]["content"][0]["text"]  # type: ignore[typeddict-item]

        other.draft("demo", "A part of")
        tmux.ends_with("assistant · writing… (python)", "  A part of", "", "demo>")
        other.draft("demo", "")
        other.add("demo", {"role": "assistant", "content": "A part of one."})
        tmux.ends_with("  A part of one.", "", "demo>")

        typed(tmux, "One mo")
        tmux.ends_with("demo> One mo")
        other.add("demo", "Somebody else asks.")
        tmux.ends_with("  Somebody else asks.", "", "demo> One mo")
        tmux.run("send-keys", "-l", "re\r/undo\r")  # before the daemon has told of the message
        tmux.shows("  Somebody else asks.", "demo> One more", "demo> /undo", "  - #7  user  One more")
        assert [2, 3, 4, 5, 6] == [message["seq"] for message in other.messages("demo").messages]

        daemon.kill()
        tmux.shows("reel: lost the connection to the daemon")
        daemon.start()
        tmux.shows("reel: the daemon is back")
        typed(tmux, "After that.", "Enter")
        tmux.ends_with("demo> After that.", "", "demo>")
        with daemon.client() as again:
            again.add("demo", {"role": "assistant", "content": "I am here."})
            tmux.ends_with("  I am here.", "", "demo>")
            assert ["After that.", "I am here."] == [
                message["content"][0]["text"]  # type: ignore[typeddict-item]
                for message in again.messages("demo", last=2).messages
            ]
        typed(tmux, "", "C-d")
        tmux.shows("left 0")


@pytest.mark.slow
def test_end_of_the_conversation(tmux: Tmux) -> None:
    """Ctrl-C drops a line and stays; when the conversation is purged, the command ends with that error."""
    with running_daemon() as daemon, daemon.client() as other:
        other.create("demo")
        attach(tmux, daemon.socket, "demo")
        typed(tmux, "not this")
        tmux.ends_with("demo> not this")  # a terminal drops what was not read yet when it gets Ctrl-C
        typed(tmux, "", "C-c")
        tmux.ends_with("demo> not this", "", "demo>")
        other.purge("demo")
        assert "demo> left" not in tmux.shows("reel: conversation demo was purged", "left 4")


@pytest.mark.slow
def test_leaving_while_the_daemon_is_away(tmux: Tmux) -> None:
    """Nobody is kept waiting: Ctrl-C leaves."""
    with running_daemon() as daemon, daemon.client() as other:
        other.create("demo")
        attach(tmux, daemon.socket, "demo")
        daemon.kill()
        tmux.shows("reel: lost the connection to the daemon")
        typed(tmux, "", "C-c")
        tmux.shows("left 0")


def test_attaching_needs_a_terminal(reel: Reel, client: Client, name: str) -> None:
    """In a script, two other commands do this."""
    client.create(name)

    refused = reel("attach", name)
    assert (2, "") == refused[:2]
    assert "reel follow, and reel add" in refused.err
