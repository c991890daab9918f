"""``reel`` alone, and a command without a name, at a real terminal."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.reel.cli.conftest import Reel
from tests.reel.cli.tmux import Tmux

_REEL = shlex.join([sys.executable, "-c", "from reel.cli import process; process()"])
# Runs what is typed, with the arguments of reel; says how it ended, and whether the terminal is as it was.
_SCRIPT = """
before=$(stty -g)
while read -r words; do
  {reel} $words; echo "left $?"
  test "$(stty -g)" = "$before" && echo restored
done
"""


@pytest.fixture
def tmux(daemon: str, tmp_path: Path) -> Iterator[Tmux]:
    """A terminal in which each line that is typed is run with the command."""
    program = shutil.which("tmux") or pytest.skip("tmux is not installed")
    given = {"REEL_SOCKET": daemon, "PAGER": "cat", "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": ""}
    without = {"REEL_AGENT", "XDG_CONFIG_HOME"}
    environment = {key: value for key, value in os.environ.items() if key not in without}
    found = Tmux(program, tmp_path / "tmux", {**environment, "HOME": str(tmp_path), **given})
    (tmp_path / "script").write_text(_SCRIPT.format(reel=f"{_REEL} < /dev/tty"))
    found.run("new-session", "-d", "-x", "120", "-y", "30", "-c", str(tmp_path), "sh script")
    yield found
    with suppress(subprocess.CalledProcessError):
        found.run("kill-server")


def typed(tmux: Tmux, *keys: str) -> None:
    """Type texts and keys."""
    for key in keys:
        tmux.run("send-keys", *(["-l", key] if " " in key or key.islower() else [key]))


@pytest.mark.slow
def test_choosing_a_conversation(tmux: Tmux, client: Client, name: str, tmp_path: Path) -> None:
    """The list narrows as one types, the end of the chosen one is shown, and a key goes on with it."""
    client.add(f"{name}/one", ["What is a tape deck?", "And a reel?"], create=True)
    client.add(f"{name}/two", "Something else.", create=True)
    typed(tmux, "Enter")
    tmux.shows("conversation>")
    typed(tmux, f"{name} tape")
    lines = tmux.shows(f"> {name}/one", "  And a reel?")
    assert [] == [line for line in lines if "Something else." in line]
    typed(tmux, "C-u", f"{name}")
    tmux.shows(f"> {name}/two", f"  {name}/one", "  Something else.")
    typed(tmux, "Down")
    tmux.shows(f"> {name}/one")
    typed(tmux, "C-o")
    assert "  And a reel?" in tmux.shows("left 0", "restored", "reel show")
    typed(tmux, "Enter")
    tmux.shows("conversation>")
    typed(tmux, f"{name}/two")
    tmux.shows(f"> {name}/two")
    typed(tmux, "C-x")
    tmux.shows("written:")
    assert "Something else." in (tmp_path / f"{name}-two.md").read_text()
    typed(tmux, "Enter")
    tmux.shows("conversation>")
    typed(tmux, "Escape")

    tmux.ends_with("left 1", "restored")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["show", "log", "info", "tree"])
def test_a_command_without_a_name(tmux: Tmux, client: Client, name: str, command: str) -> None:
    """Where one reads, the conversation is chosen; a command that changes something keeps its error."""
    client.add(name, "What is a tape deck?", create=True)
    typed(tmux, command, "Enter")
    tmux.shows("conversation>")
    typed(tmux, name)
    tmux.shows(f"> {name}")
    typed(tmux, "Enter")
    tmux.shows("left 0", "restored")
    typed(tmux, "clear", "Enter")

    tmux.shows("reel: no conversation was named")


@pytest.mark.slow
def test_a_question_where_a_chat_is_chosen(tmux: Tmux, client: Client, tmp_path: Path) -> None:
    """What is typed stands in the entry for a new conversation, and then in its prompt: nothing typed is lost."""
    (tmp_path / ".config/reel").mkdir(parents=True)
    (tmp_path / ".config/reel/reel.toml").write_text('[providers.a]\ncommand = "cat"\nformat = "gemini"\n')
    client.create()
    typed(tmux, "chat", "Enter")
    tmux.shows("> a new conversation")
    typed(tmux, "why is the sky blue")
    tmux.shows("> a new conversation: why is the sky blue")
    typed(tmux, "Enter")
    heading = tmux.ends_in("> why is the sky blue")[1]

    assert heading.startswith(f"{client.agents(order='updated', limit=1).agents[0].name}  0 messages")


@pytest.mark.slow
@pytest.mark.parametrize("providers", ["", "ab"])
def test_a_chat_that_nobody_would_answer(tmux: Tmux, client: Client, tmp_path: Path, providers: str) -> None:
    """What is missing is said before a conversation is chosen, also if none of several providers is named."""
    tables = (f'[providers.{provider}]\ncommand = "cat"\nformat = "gemini"\n' for provider in providers)
    (tmp_path / ".config/reel").mkdir(parents=True)
    (tmp_path / ".config/reel/reel.toml").write_text("".join(tables))
    client.create()
    typed(tmux, "chat", "Enter")

    tmux.shows("reel: nothing says which command answers")


@pytest.mark.parametrize("words", [[], ["pick"], ["show"], ["log"]])
def test_without_a_terminal(reel: Reel, words: list[str]) -> None:
    """In a script nothing is chosen: reel alone prints its help, a command says that a name is missing."""
    ran = reel(*words)

    assert (0 if not words else 2) == ran.status
    assert ("usage: reel" in ran.out) == (not words)
