"""``reel show``: parts of a conversation, and texts of it for programs."""

import os
from pathlib import Path

import pytest

from reel.said.new_messages import text, tool_call, tool_result
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel

from .test_processes import on_terminal

ANSWER = "Try:\n```sh\nls -l\n```\nor\n```\ndu\n```\n"


@pytest.fixture
def coded(reel: Reel, client: Client, name: str) -> str:
    """An agent with an answer that has code, and a later one that only calls a tool."""
    reel("new", name, "--system", "Be brief.")
    client.add(name, ["How do I list files?", text("assistant", ANSWER), "And now?"])
    client.add(name, [tool_call("c1", "run", "{}")])
    client.add(name, [tool_result("c1", "\n".join(map(str, range(60))))])
    return name


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--last-answer"], ANSWER + "\n"),
        (["--code"], "ls -l\n"),
        (["--code", "--block", "2"], "du\n"),
        (["--block", "2"], "du\n"),
        (["--block", "-1"], "du\n"),
        (["--text", "--last", "4"], f"{ANSWER}\n\nAnd now?\n"),
        (["3", "--text"], "How do I list files?\n"),
        (["5..", "--text"], "And now?\n"),
        (["#4", "--last-answer"], ANSWER + "\n"),
        (["--last-answer", "--at", "4"], ANSWER + "\n"),
    ],
)
def test_texts_for_pipes(reel: Reel, coded: str, options: list[str], expected: str) -> None:
    """Only what was said is printed: no headings, no calls, no indentation."""
    assert (0, expected, "") == reel("show", coded, *options)


def test_what_is_no_longer_there(reel: Reel, client: Client, name: str) -> None:
    """Of a message that was taken out, the error says how to see it; an event that is none has no other state."""
    client.create(name)
    client.add(name, "before")
    client.clear(name)
    client.add(name, "after")
    gone, none = reel("show", name, "2"), reel("show", name, "3")
    then = reel("show", name, "2", "--at", "2")

    assert (
        f"#2 is no longer in the conversation of {name}; see it as it was with: reel show {name} 2 --at 2" in gone.err
    )
    assert (1, 1) == (gone.status, none.status)
    assert "has no message #3" in none.err
    assert "before" in then.out


def test_options_before_the_agent(reel: Reel, coded: str) -> None:
    """An option without a value does not take the agent for one."""
    assert (0, "ls -l\n", "") == reel("show", "--code", coded)
    assert (0, "du\n", "") == reel("show", "--block=2", coded)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["3", "--last-answer"], "{} has no answer yet"),
        (["3", "--code"], "no answer of {} has code in fences; 3 is the message, and --block N the N-th code block"),
        (["--block", "3"], "there is no code block 3; the answer has 2"),
        (["--block", "0"], "there is no code block 0; the answer has 2"),
        (["99"], "invalid_params: the conversation of {} has no message #99; see every event with: reel log {}"),
    ],
)
def test_nothing_to_print(reel: Reel, coded: str, options: list[str], problem: str) -> None:
    """If there is no such text, the status is 1, and nothing is on stdout."""
    assert (1, "", f"reel: {problem.format(coded, coded)}\n") == reel("show", coded, *options)


@pytest.mark.parametrize(
    "options",
    [
        ("--text", "--code"),
        ("--last-answer", "--block", "2"),
        ("--brief", "--full"),
        ("3", "--last", "2"),
        ("3", "--records"),
        ("3..x",),
    ],
)
def test_show_refuses_options(reel: Reel, coded: str, options: tuple[str, ...]) -> None:
    """Options that contradict each other are wrong usage."""
    assert 2 == reel("show", coded, *options).status


def test_answer_before_many_messages(reel: Reel, client: Client, name: str) -> None:
    """The last answer is found, however many messages came after it."""
    client.add(name, [text("assistant", "Here."), *["Hello?"] * 30], create=True)

    assert "Here.\n" == reel("show", name, "--last-answer").out


def test_messages_by_their_numbers(reel: Reel, coded: str) -> None:
    """A range has only its messages, without the prompt."""
    assert [3, 4] == [message["seq"] for message in reel("show", coded, "3..4", "--json").documents]
    assert reel("show", coded, "3").out.startswith("user  #3")


@pytest.mark.slow
def test_tool_output_is_folded(coded: str) -> None:
    """What would fill the screen is folded, with how to see it, and shown if it is asked for."""
    folded = on_terminal("show", coded, "--no-pager")
    brief = on_terminal("show", coded, "--no-pager", "--brief")

    assert f"    4\n    \x1b[2m… 55 more lines: reel show {coded} 7\x1b[0m\n" in folded
    assert f"    0\n    \x1b[2m… 59 more lines: reel show {coded} 7\x1b[0m\n" in brief
    for options in (["--full"], ["7"]):
        assert "    59\n" in on_terminal("show", coded, "--no-pager", *options)


def test_tool_output_in_a_pipe(reel: Reel, coded: str) -> None:
    """A pipe gets all of it, unless --brief is given."""
    assert reel("show", coded).out.endswith("    59\n")
    assert reel("show", coded, "--brief").out.endswith("    0\n    … 59 more lines\n")


def test_colours_for_another_program(reel: Reel, coded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours can be asked for, and fzf's window has the width that it says."""
    monkeypatch.setenv("FZF_PREVIEW_COLUMNS", "12")
    ran = reel("show", coded, "3", "--color", "always")

    assert ran.out.startswith("\x1b[36muser\x1b[0m")
    assert ran.out.endswith("\n  How do I\n  list\n  files?\n")
    assert "\x1b" not in on_terminal("show", coded, "3", "--color=never")


def test_pager_begins_at_the_end(coded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """less is told to begin at the end of a conversation, but not of what was asked for by its number."""
    less = _cat_as_less(tmp_path) / "less"
    less.write_text('#!/bin/sh\ncat > /dev/null; echo "less $*"\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("PAGER", raising=False)

    assert "less +G\n" == on_terminal("show", coded, "--full")
    assert "less \n" == on_terminal("show", coded, "7")


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("show {}", "show {} 1.."),
        ("show {} --at 1201", "show {} 1.. --at 1201"),
        ("show {} --records", "show {} --records --no-pager"),
        ("log {}", "log {} --since 0"),
        ("log {} --kind user", "log {} --since 0 --kind user"),
    ],
)
def test_the_end_of_a_long_list(
    reel: Reel, client: Client, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, whole: str
) -> None:
    """A pager that begins at the end gets the newest thousand, below how all are seen; anything else gets all."""
    monkeypatch.setenv("PATH", f"{_cat_as_less(tmp_path)}:{os.environ['PATH']}")
    monkeypatch.delenv("PAGER", raising=False)
    client.create(name, system="Be brief.")
    client.add(name, [f"said {number}." for number in range(1200)])
    words = command.format(name).split()
    begun, rest = on_terminal(*words).split("\n\n", 1)

    assert begun.endswith(f" {whole.format(name)}\x1b[0m")
    assert begun.startswith("\x1b[2m… more before this: reel ")
    assert [False, True, True] == [f"said {number}." in rest for number in (199, 200, 1199)]
    assert "Be brief." not in rest
    for others in ([*words, "--no-pager"], whole.format(name).split()):
        assert "said 0." in on_terminal(*others)
    assert "said 0." in reel(*words).out
    monkeypatch.setenv("PAGER", "cat")
    assert "said 0." in on_terminal(*words)


def test_the_end_of_a_list_without_what_fills_it(
    client: Client, coded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left when a kind is left out is shown whole, and so is all if there is no such pager."""
    monkeypatch.setenv("PATH", f"{_cat_as_less(tmp_path)}:{os.environ['PATH']}")
    monkeypatch.delenv("PAGER", raising=False)
    client.add(coded, [f"said {number}." for number in range(1200)])
    assert "Be brief." in on_terminal("log", coded, "--without", "user")

    monkeypatch.setenv("PAGER", str(tmp_path / "none" / "less"))
    assert "said 0." in on_terminal("show", coded)


@pytest.mark.usefixtures("reel")
@pytest.mark.parametrize("command", ["show", "log"])
def test_the_end_of_a_list_that_is_all(
    client: Client, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A list of a thousand is shown whole, with its beginning."""
    monkeypatch.setenv("PATH", f"{_cat_as_less(tmp_path)}:{os.environ['PATH']}")
    monkeypatch.delenv("PAGER", raising=False)
    client.create(name)
    client.add(name, [f"said {number}." for number in range(999 if command == "log" else 1000)])
    shown = on_terminal(command, name)

    assert "said 0." in shown
    assert "more before this" not in shown


def _cat_as_less(directory: Path) -> Path:
    """Make a program that is called less and prints what it gets, and return the directory to find it in."""
    less = directory / "less"
    less.write_text("#!/bin/sh\ncat\n")
    less.chmod(0o700)
    return directory
