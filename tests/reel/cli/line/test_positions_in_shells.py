"""What the last word of a command line may be, at each position of it."""

import pytest

from reel.cli.line.shells.positions import Wanted, wanted
from reel.mcp.wiring.tools import TOOLS

_ALIASES = {"last": "show --last 1", "note": "add --role user", "more": "add demo"}


def at(line: str) -> Wanted:
    """Return what the last word of a line may be."""
    return wanted(line.split(" ")[1:], _ALIASES)


def words(line: str) -> list[str]:
    """Return which words the last one may be, of those that begin like it."""
    return [offer.word for offer in at(line).offers if offer.word.startswith(line.rpartition(" ")[2])]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("reel ", "commands"),
        ("reel --json ", "commands"),
        ("reel --socket ", "files"),
        ("reel --socket x ", "commands"),
        ("reel --timeout ", "words"),
        ("reel show ", "agents"),
        ("reel show --text ", "agents"),
        ("reel show --code ", "agents"),
        ("reel show --block 2 ", "agents"),
        ("reel show demo ", "words"),
        ("reel show -a demo ", "words"),
        ("reel show -a ", "agents"),
        ("reel redact --text x ", "agents"),
        ("reel revive ", "all agents"),
        ("reel rewind ", "agents"),
        ("reel rewind demo ", "marks"),
        ("reel rewind -a demo ", "marks"),
        ("reel rewind demo one ", "words"),
        ("reel ask --via ", "providers"),
        ("reel add --file ", "files"),
        ("reel backup ", "files"),
        ("reel import chatgpt ", "files"),
        ("reel show -", "options"),
        ("reel show -- -", "agents"),
        ("reel show -- demo ", "words"),
        ("reel -- ", "commands"),
        ("reel unknown ", "words"),
        ("reel last ", "agents"),
        ("reel last demo ", "words"),
        ("reel note ", "agents"),
        ("reel more ", "words"),
        ("reel", "commands"),
    ],
)
def test_kind_of_the_last_word(line: str, kind: str) -> None:
    """Each position has its kind: after an option its value, after the agent what comes next, in an alias as well."""
    assert kind == at(line).kind


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("reel rep", ["replay"]),
        ("reel las", ["last"]),
        ("reel --v", ["--version"]),
        ("reel log --in", ["--inherited"]),
        ("reel add --role ", ["user", "assistant", "system"]),
        ("reel add --role user demo --cr", ["--create"]),
        ("reel completion ", ["bash", "zsh", "fish"]),
        ("reel help ex", ["export", "exit-status"]),
        ("reel import cod", ["codex"]),
        ("reel editor v", ["vim", "vscode"]),
        ("reel wait --ti", ["--timeout"]),
        ("reel last demo --bri", ["--brief"]),
        ("reel show --last ", []),
    ],
)
def test_words_that_the_table_knows(line: str, expected: list[str]) -> None:
    """Commands, options and the choices of both come from the table of commands."""
    assert expected == words(line)


def test_what_words_mean() -> None:
    """Commands and options come with their explanations."""
    about = {offer.word: offer.about for line in ("reel ", "reel show -") for offer in at(line).offers}

    assert "show the conversation" == about["show"]
    assert "alias" == about["last"]
    assert "fold nothing" == about["--full"]


def test_what_the_daemon_is_asked() -> None:
    """The agent of the marks is the one that the line names, and so is the socket."""
    assert "demo" == at("reel rewind demo ").agent
    assert "demo" == at("reel rewind -a demo ").agent
    assert "/x" == at("reel --socket /x show ").socket
    assert "/x" == at("reel show --socket /x ").socket


def test_tools_that_start_the_server_for_agents() -> None:
    """The tools offered are those that the command knows, not those whose histories can be imported."""
    assert [tool.name for tool in TOOLS] == words("reel mcp ")
    assert ["cursor"] == words("reel mcp --install cu")
