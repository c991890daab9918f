"""``reel render``: only the body on stdout, everything about it on stderr."""

import json
from pathlib import Path

import pytest

from reel.cli.commands.render import extra
from reel.cli.line.arguments import UsageError
from reel.said.formats import FORMATS
from tests.formats.checker import check
from tests.reel.cli.conftest import Reel

from .test_processes import on_terminal


@pytest.fixture
def talk(reel: Reel, name: str) -> str:
    """An agent with a system prompt, a question and a tool call: seqs 1 to 4."""
    reel("new", name, "--system", "Be brief.")
    reel("add", name, "What is a tape deck?")
    reel("add", name, "--tool-call", "c1", "look up", '{"word": "deck"}')
    return name


def test_body_on_stdout_and_changes_on_stderr(reel: Reel, talk: str) -> None:
    """The body can be piped into a request, and the changes are listed on stderr."""
    ran = reel(
        *("render", talk, "--format", "anthropic", "--set", "model=claude-opus-4", "--set", "max_tokens=9"),
        *("--set", 'metadata={"user_id": "u"}'),
    )
    body = json.loads(ran.out)

    assert 0 == ran.status
    assert [] == check("anthropic", body)
    assert ("claude-opus-4", 9, {"user_id": "u"}) == (body["model"], body["max_tokens"], body["metadata"])
    assert "reel: note: #4 synthesized: the call c1 has no result\n" in ran.err


def test_a_body_in_a_dialect(reel: Reel, talk: str) -> None:
    """The ids are such as the server accepts; without a dialect the model's name tells it."""
    named = reel("render", talk, "--format", "openai-chat", "--dialect", "mistral")
    told = reel("render", talk, "--format", "openai-chat", "--set", "model=mistral-large-latest")

    assert [] == check("openai_chat/mistral", json.loads(named.out))
    assert json.loads(named.out)["messages"] == json.loads(told.out)["messages"]


def test_changes_of_older_messages_at_a_terminal(reel: Reel, name: str) -> None:
    """A person reads what is new; a script, and --report, get all changes."""
    reel("add", name, "--file", "-", "--create", stdin=b'"one"\n"two"\n')
    reel("add", name, "--role", "assistant", "Three.")
    reel("add", name, "four")
    asked = ("render", name, "--format", "anthropic", "--set", "model=claude-opus-4", "--set", "max_tokens=9")

    assert "note: #3 merged" in reel(*asked).err
    assert "note:" not in on_terminal(*asked)
    reel("add", name, "five")
    assert "note: #6 merged" in on_terminal(*asked)


def test_a_large_number_in_a_setting(reel: Reel, talk: str) -> None:
    """A large number goes into the body unchanged."""
    ran = reel("render", talk, "--format", "openai-chat", "--set", "seed=18446744073709551616", "--set", "x=1e400")

    assert '"seed":18446744073709551616' in ran.out
    assert '"x":1e400' in ran.out


def test_tools_and_their_new_names(reel: Reel, talk: str, tmp_path: Path) -> None:
    """Tools come from a file, and the report lists the renamed ones."""
    tools, report = tmp_path / "tools.json", tmp_path / "report.json"
    tools.write_text('[{"name": "look up", "input_schema": {"type": "object"}}]')
    ran = reel("render", talk, "--format", "anthropic", "--tools", str(tools), "--report", str(report))
    (sent,) = json.loads(ran.out)["tools"]
    found = json.loads(report.read_text())

    assert "" == ran.err
    assert {sent["name"]: "look up"} == found["names"]
    assert ["renamed", "synthesized"] == sorted({change["action"] for change in found["report"]})
    assert "body" not in found


def test_after_an_earlier_report(reel: Reel, talk: str, tmp_path: Path) -> None:
    """With --after a note says if the body does not extend the earlier one."""
    report = str(tmp_path / "report.json")
    argv = ("render", talk, "--format", "gemini", "--report", report)
    reel("add", talk, "And?")
    reel("add", talk, "--role", "assistant", "So.")
    reel("add", talk, "Go on.")
    reel(*argv)
    reel("add", talk, "Please.")
    same = reel(*argv, "--after", report)
    reel("restore", talk, "3")
    other = reel(*argv, "--after", report)

    assert "" == same.err
    assert "reel: note: the body does not extend the earlier one" in other.err


def test_render_json_is_the_whole_reply(reel: Reel, talk: str) -> None:
    """With --json the body and the report are one document."""
    (reply,) = reel("render", talk, "--format", "gemini", "--json", "--at", "3").documents

    assert ("gemini", 3, []) == (reply["format"], reply["at"], reply["report"])
    assert "systemInstruction" in json.loads(reply["body"])


def test_body_that_is_not_ready_is_printed_with_a_warning(reel: Reel, talk: str) -> None:
    """The body is printed, and a warning says what is missing."""
    reel("add", talk, "--tool-result", "c1", "a machine")
    reel("add", talk, "--role", "assistant", "A machine.")
    ran = reel("render", talk, "--format", "gemini", "--set", "model=x")

    assert "reel: warning: nothing to answer: the last message is not the user's, or cannot be sent\n" in ran.err


def test_a_long_report_is_cut(reel: Reel, name: str) -> None:
    """A long list of changes is cut."""
    reel("new", name)
    for _ in range(14):
        reel("add", name, " ")
    err = reel("render", name, "--format", "gemini").err

    assert "more; --json has them all\n" in err
    assert 13 <= len(err.splitlines()) <= 14


@pytest.mark.parametrize(
    ("argv", "status", "expected"),
    [
        ([], 2, f"--format is missing; it is one of {', '.join(FORMATS)}"),
        (["--format", "anthropic", "--set", "x"], 2, "--set 'x' is not of the form K=V"),
        (["--format", "anthropic", "--set", "messages=[]"], 1, "extra.messages: comes from the conversation"),
        (["--format", "anthropic", "--open", "refuse"], 5, "1 calls have no result; see them with: reel info "),
        (["--format", "anthropic", "--after", "/dev/null"], 2, "/dev/null is empty"),
    ],
)
def test_render_refuses_wrong_usage(reel: Reel, talk: str, argv: list[str], status: int, expected: str) -> None:
    """One line says what to do instead."""
    ran = reel("render", talk, *argv)

    assert (status, "") == (ran.status, ran.out)
    assert expected in ran.err


def test_after_a_file_that_is_not_a_report(reel: Reel, talk: str, tmp_path: Path) -> None:
    """A file that was not written by --report is refused."""
    path = tmp_path / "x.json"
    path.write_text("[]")

    assert (
        "was not written by reel render --report"
        in reel("render", talk, "--format", "gemini", "--after", str(path)).err
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], None),
        (["a=1", "b=x", 'c="1"', "d=", "e=x=y", "f={"], {"a": 1, "b": "x", "c": "1", "d": "", "e": "x=y", "f": "{"}),
    ],
)
def test_settings_of_the_body(settings: list[str], expected: object) -> None:
    """A value is JSON if it parses, otherwise text."""
    found = extra(settings, None)

    assert expected == (found and json.loads(found))


@pytest.mark.parametrize("setting", ["a", "=1"])
def test_settings_have_a_key(setting: str) -> None:
    """A setting without a key is refused."""
    with pytest.raises(UsageError):
        extra([setting], None)


def test_calls_of_other_tools_as_text(reel: Reel, talk: str) -> None:
    """With --only-tools, the calls of all other tools are text."""
    named = reel("render", talk, "--format", "openai-chat", "--only-tools", "other")

    assert "tool_calls" not in named.out
    assert "Call of " in named.out
    assert "is not in tools" in named.err
