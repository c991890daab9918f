"""With $REEL_AGENT set, one word may be the agent or the word after it; nothing that was given is lost."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reel import Client
from reel.cli import lone_argument

from .conftest import Reel, attached, texts
from .running import started

BODY = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "That."}, "finish_reason": "stop"}]}'
FORMAT = ("--format", "openai-chat")


@pytest.fixture
def other(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Another agent than the one of $REEL_AGENT."""
    reel("new", f"{talk}-other")
    monkeypatch.setenv("REEL_AGENT", talk)
    monkeypatch.setattr(lone_argument, "STDIN_TIMEOUT", 0.01)
    return f"{talk}-other"


@contextmanager
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let stdin be a pipe that stays open and brings nothing."""
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
    """A word that is no agent's name might be the text or a mistyped agent; both ways to write it are shown."""
    ran = reel("add", "othr", *options, stdin=b"diff --git\n")

    assert 2 == ran.status
    assert (
        "'othr' may be the agent or the TEXT: no agent has this name, and stdin is not empty; "
        f"write `reel add -a othr` for the agent, or `reel add -a {talk} othr` for the TEXT"
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
def test_a_word_that_cannot_be_an_agent_is_the_text(reel: Reel, talk: str, other: str, word: str) -> None:
    """What no agent could be called needs no decision."""
    assert 0 == reel("add", "--", word, stdin=b"diff").status

    assert [word if word != "-" else "diff"] == texts(reel, talk)[2:]
    assert [] == texts(reel, other)


def test_a_text_without_anything_on_stdin(reel: Reel, talk: str, other: str) -> None:
    """An empty stdin, as cron has it, leaves the word to be the text, even if an agent is called so."""
    assert 0 == reel("add", "done", stdin=b"").status
    assert 0 == reel("add", other, stdin=b"").status

    assert ["done", other] == texts(reel, talk)[2:]


def test_a_text_beside_a_pipe_that_stays_silent(
    reel: Reel, talk: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that brings nothing holds up nobody: the word is the text, unless an agent is called so."""
    with silence(monkeypatch):
        assert 0 == reel("add", "done").status
        refused = reel("add", other)

    assert 2 == refused.status
    assert "an agent has this name, and nothing has arrived on stdin yet" in refused.err
    assert ["done"] == texts(reel, talk)[2:]


def test_an_agent_that_is_named_by_its_option(reel: Reel, talk: str, other: str) -> None:
    """With -a the word is the text, whatever is on stdin."""
    assert 0 == reel("add", "-a", talk, other, stdin=b"diff").status

    assert [other] == texts(reel, talk)[2:]


@pytest.mark.parametrize("command", ["mark", "rewind", "clone"])
def test_a_label_or_a_name_that_an_agent_has(reel: Reel, talk: str, other: str, command: str) -> None:
    """Whether the agent or the other word is meant cannot be known, so nothing is done."""
    place = "NAME" if command == "clone" else "LABEL"
    ran = reel(command, other)

    assert 2 == ran.status
    assert f"'{other}' may be the agent or the {place}: an agent has this name; write `reel {command}" in ran.err
    assert [4, 1] == [reel("info", agent, "--json").documents[0]["head"] for agent in (talk, other)]


def test_a_label_that_no_agent_has(reel: Reel, talk: str, other: str) -> None:
    """Any other word is the label, as ever."""
    assert 0 == reel("mark", "here").status
    assert 0 == reel("rewind", "here").status
    assert 0 == reel("clone", f"{talk}-copy").status
    assert [6, 1] == [reel("info", agent, "--json").documents[0]["head"] for agent in (talk, other)]


@pytest.mark.parametrize("command", ["kill", "clear", "undo", "redo", "revive", "info", "show"])
def test_a_command_about_an_agent_alone(reel: Reel, talk: str, other: str, command: str) -> None:
    """Where no other word is taken, the word is the agent."""
    before = reel("info", talk, "--json").documents

    assert reel(command, other).status in (0, 1)
    assert before == reel("info", talk, "--json").documents


@pytest.mark.parametrize("command", ["rename", "title"])
def test_a_word_that_must_be_there(reel: Reel, talk: str, other: str, command: str) -> None:
    """Where the word after the agent cannot be left out, one word is always that."""
    assert 0 == reel(command, f"{other}-2").status

    assert other == reel("info", other, "--json").documents[0]["name"]
    assert 4 == reel("info", f"{talk}-nobody").status


def test_a_tag_that_is_none(reel: Reel, other: str) -> None:
    """An agent in front of tags is refused, and -a named."""
    ran = reel("tag", other, "a=b")

    assert 2 == ran.status
    assert "name the agent with -a" in ran.err


def test_a_piped_answer_goes_to_the_named_agent(reel: Reel, talk: str, other: str) -> None:
    """If there is an agent and no file of this name, the answer comes from stdin."""
    assert 0 == reel("ingest", other, *FORMAT, stdin=BODY).status

    assert ["That."] == texts(reel, other)
    assert 2 == len(texts(reel, talk))


def test_a_file_of_an_answer(
    reel: Reel, talk: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is a file, also in a loop whose stdin has more; if an agent is called so, it is refused."""
    monkeypatch.chdir(tmp_path)
    for name in ("answer.json", other):
        (tmp_path / name).write_bytes(BODY)

    assert 0 == reel("ingest", "answer.json", *FORMAT, stdin=b"next.json\n").status
    assert 0 == reel("ingest", other, *FORMAT, stdin=b"").status
    refused = reel("ingest", other, *FORMAT, stdin=BODY)

    assert 2 == refused.status
    assert "may be the agent or the FILE: both exist, and stdin is not empty" in refused.err
    assert ["That."] * 2 == texts(reel, talk)[2:]


def test_a_draft_that_is_added(reel: Reel, daemon: str, talk: str, other: str) -> None:
    """What is added comes from stdin, so the word is the agent, however slow the pipe is."""
    with started(daemon, "draft", other, "--add") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"slow answer\n")
        stdin.close()
        running.until(f"{other}: added #2")

    assert ["slow answer"] == texts(reel, other)
    assert 2 == len(texts(reel, talk))


def test_an_answer_to_an_event(reel: Reel, client: Client, daemon: str, other: str) -> None:
    """A command that runs for an event may answer with one word, whatever is on its stdin."""
    command = f"{sys.executable} -c 'from reel.cli import process; process()' add --role assistant ok; exit 3"
    with started(daemon, "follow", other, "--exec", command) as running:
        attached(client, other)
        client.add(other, "Is it?")

        running.until(f"{other} #2: the command exited with status 3")

    assert ["Is it?", "ok"] == texts(reel, other)
