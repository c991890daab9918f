"""With $REEL_AGENT set, a single argument may be the agent or what comes after it; no input is lost."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reel import Client
from reel.cli.line import lone_argument
from tests.reel.cli.conftest import Reel, attached, texts
from tests.reel.cli.running import started

BODY = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "That."}, "finish_reason": "stop"}]}'
FORMAT = ("--format", "openai-chat")


@pytest.fixture
def other(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Another agent than $REEL_AGENT."""
    reel("new", f"{talk}-other")
    monkeypatch.setenv("REEL_AGENT", talk)
    monkeypatch.setattr(lone_argument, "STDIN_TIMEOUT", 0.01)
    return f"{talk}-other"


@contextmanager
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let stdin be a pipe that stays open without data."""
    reader, writer = os.pipe()
    with monkeypatch.context() as patch, os.fdopen(reader) as stdin:
        patch.setattr("sys.stdin", stdin)
        yield
        os.close(writer)


def test_piped_text_goes_to_the_named_agent(reel: Reel, talk: str, other: str) -> None:
    """`git diff | reel add other` adds the diff to other."""
    assert (0, f"{other}: added #2\n", "") == reel("add", other, stdin=b"diff --git\n")

    assert ["diff --git"] == texts(reel, other)
    assert ["What is a tape deck?", "A machine."] == texts(reel, talk)


@pytest.mark.parametrize("options", [(), ("--create",)])
def test_piped_text_for_nobody_is_refused(reel: Reel, talk: str, options: tuple[str, ...], other: str) -> None:
    """A word that is not an agent's name may be the text or a mistyped agent; the error shows how to write both."""
    ran = reel("add", "othr", *options, stdin=b"diff --git\n")

    assert 2 == ran.status
    assert (
        "'othr' may be the conversation or the TEXT: no conversation has this name, and stdin is not empty; "
        f"write `reel add -a othr` for the conversation, or `reel add -a {talk} othr` for the TEXT"
    ) in ran.err
    assert 2 == len(texts(reel, talk))
    assert 4 == reel("show", "othr").status
    assert other


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("two words", id="words"),
        pytest.param("done!", id="mark"),
        pytest.param("", id="empty"),
        pytest.param("ünï", id="letters"),
        pytest.param("-", id="dash"),
    ],
)
def test_word_that_cannot_be_an_agent_is_the_text(reel: Reel, talk: str, other: str, word: str) -> None:
    """A word that cannot be an agent's name is the text."""
    assert 0 == reel("add", "--", word, stdin=b"diff").status

    assert [word if word != "-" else "diff"] == texts(reel, talk)[2:]
    assert [] == texts(reel, other)


def test_word_is_the_text_if_stdin_is_empty(reel: Reel, talk: str, other: str) -> None:
    """If stdin is empty, as under cron, the word is the text, even if an agent has this name."""
    assert 0 == reel("add", "done", stdin=b"").status
    assert 0 == reel("add", other, stdin=b"").status

    assert ["done", other] == texts(reel, talk)[2:]


def test_word_is_the_text_if_a_pipe_stays_silent(
    reel: Reel, talk: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent pipe is not waited for: the word is the text, unless an agent has this name."""
    with silence(monkeypatch):
        assert 0 == reel("add", "done").status
        refused = reel("add", other)

    assert 2 == refused.status
    assert "a conversation has this name, and nothing has arrived on stdin yet" in refused.err
    assert ["done"] == texts(reel, talk)[2:]


def test_word_is_the_text_if_the_agent_is_an_option(reel: Reel, talk: str, other: str) -> None:
    """With -a the word is the text, whatever is on stdin."""
    assert 0 == reel("add", "-a", talk, other, stdin=b"diff").status

    assert [other] == texts(reel, talk)[2:]


@pytest.mark.parametrize("command", ["mark", "rewind", "clone"])
def test_label_or_name_that_an_agent_has_is_refused(reel: Reel, talk: str, other: str, command: str) -> None:
    """If an agent has the name, the word is ambiguous, and nothing is done."""
    place = "NEW_NAME" if command == "clone" else "LABEL"
    ran = reel(command, other)

    assert 2 == ran.status
    assert (
        f"'{other}' may be the conversation or the {place}: a conversation has this name; write `reel {command}"
        in ran.err
    )
    assert [4, 1] == [reel("info", agent, "--json").documents[0]["head"] for agent in (talk, other)]


def test_label_that_no_agent_has(reel: Reel, talk: str, other: str) -> None:
    """Any other word is the label."""
    assert 0 == reel("mark", "here").status
    assert 0 == reel("rewind", "here").status
    assert 0 == reel("clone", f"{talk}-copy").status
    assert [6, 1] == [reel("info", agent, "--json").documents[0]["head"] for agent in (talk, other)]


@pytest.mark.parametrize("command", ["kill", "clear", "undo", "redo", "revive", "info", "show"])
def test_word_is_the_agent_if_nothing_else_fits(reel: Reel, talk: str, other: str, command: str) -> None:
    """If the command takes only an agent, the word is the agent."""
    before = reel("info", talk, "--json").documents

    assert reel(command, other).status in (0, 1)
    assert before == reel("info", talk, "--json").documents


@pytest.mark.parametrize("command", ["rename", "title"])
def test_required_argument_is_never_the_agent(reel: Reel, talk: str, other: str, command: str) -> None:
    """If the argument after the agent is required, a single word is that argument."""
    assert 0 == reel(command, f"{other}-2").status

    assert other == reel("info", other, "--json").documents[0]["name"]
    assert 4 == reel("info", f"{talk}-nobody").status


def test_agent_in_place_of_a_tag_is_refused(reel: Reel, other: str) -> None:
    """An agent in front of tags is refused, and the error names -a."""
    ran = reel("tag", other, "a=b")

    assert 2 == ran.status
    assert "-a names the conversation" in ran.err


def test_piped_response_goes_to_the_named_agent(reel: Reel, talk: str, other: str) -> None:
    """If there is an agent and no file of this name, the response comes from stdin."""
    assert 0 == reel("ingest", other, *FORMAT, stdin=BODY).status

    assert ["That."] == texts(reel, other)
    assert 2 == len(texts(reel, talk))


def test_file_of_a_response(reel: Reel, talk: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The word is the file if that exists, even if stdin has data; if an agent has this name too, it is refused."""
    monkeypatch.chdir(tmp_path)
    for name in ("answer.json", other):
        (tmp_path / name).write_bytes(BODY)

    assert 0 == reel("ingest", "answer.json", *FORMAT, stdin=b"next.json\n").status
    assert 0 == reel("ingest", other, *FORMAT, stdin=b"").status
    refused = reel("ingest", other, *FORMAT, stdin=BODY)

    assert 2 == refused.status
    assert "may be the conversation or the FILE: both exist, and stdin is not empty" in refused.err
    assert ["That."] * 2 == texts(reel, talk)[2:]


@pytest.mark.slow
def test_draft_to_add_comes_from_stdin(reel: Reel, daemon: str, talk: str, other: str) -> None:
    """With --add the text comes from stdin, so the word is the agent, however slow the pipe is."""
    with started(daemon, "draft", other, "--add") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"slow answer\n")
        stdin.close()
        running.until(f"{other}: added #2")

    assert ["slow answer"] == texts(reel, other)
    assert 2 == len(texts(reel, talk))


@pytest.mark.slow
def test_add_in_a_command_for_an_event(reel: Reel, client: Client, daemon: str, other: str) -> None:
    """A command that runs for an event may add a single word, whatever is on its stdin."""
    command = f"{sys.executable} -c 'from reel.cli import process; process()' add --role assistant ok; exit 3"
    with started(daemon, "follow", other, "--exec", command) as running:
        attached(client, other)
        client.add(other, "Is it?")

        running.until(f"{other} #2: the command exited with status 3")

    # What it has added is an event as well, for which the command may have run by now.
    assert ["Is it?", "ok"] == texts(reel, other)[:2]


def test_range_of_the_default_agent(reel: Reel, talk: str, other: str) -> None:
    """A word that has the form of a range is one; if an agent has that name, the command is refused."""
    assert ["What is a tape deck?"] == [
        message["content"][0]["text"] for message in reel("show", "3", "--json").documents
    ]
    assert reel("show", "#4").out.startswith("assistant  #4")
    reel("new", "4")
    refused = reel("show", "4")
    assert (2, "") == refused[:2]
    assert (
        "'4' may be the conversation or the RANGE: a conversation has this name; write `reel show -a 4`" in refused.err
    )
    reel("kill", "-a", "4")
    assert other
    assert talk
