"""``reel add``: messages from the arguments, from stdin and from a file."""

import re
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.cli.commands.add import Input, parse_lines, tool_calls
from reel.cli.line.arguments import UsageError
from tests.reel.cli.conftest import Reel, texts


def test_lines_are_messages_records_and_strings() -> None:
    """Blank lines are skipped but counted, so errors name the right line; replaced characters are counted."""
    lines = [b'{"role":"user","content":"hi"}\n', b"\n", b'"one \\ud83d text"\n', b'{"kind":"note","content":"x"}']

    assert Input(
        [{"role": "user", "content": "hi"}, "one \ufffd text", {"kind": "note", "content": "x"}], [1, 3, 4], 1
    ) == parse_lines(lines, "f")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"[1]", "f line 2: expected a message, a record or a string"),
        (b"null", "f line 2: expected a message, a record or a string"),
        (b'{"content": %s}' % (b"[" * 14 + b"]" * 14), "f line 2: lists and maps nested too deep"),
        (b"{", "f line 2: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'"\xff"', "f line 2: not valid JSON: 'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"),
    ],
)
def test_line_that_is_not_a_message_is_named(line: bytes, expected: str) -> None:
    """Nothing is sent, and the error names the line."""
    with pytest.raises(InvalidMessage) as caught:
        parse_lines([b'"fine"\n', line], "f")

    assert expected == caught.value.message


def test_file_without_messages_is_refused() -> None:
    """A file without a message is wrong usage."""
    with pytest.raises(UsageError, match="f has no messages"):
        parse_lines([b"\n", b" \n"], "f")


def test_parallel_tool_calls_share_a_message() -> None:
    """Parallel tool calls become one message."""
    expected: Any = {
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": "c1", "name": "search", "arguments": "{}"},
            {"type": "tool_call", "id": "c2", "name": "read", "arguments": "[]"},
        ],
    }

    assert expected == tool_calls([["c1", "search", "{}"], ["c2", "read", "[]"]])


@pytest.mark.parametrize(
    ("position", "out", "left"),
    [
        ("@last", "added #6; 1 message set aside", ["What is a tape deck?", "Now this."]),
        ("#3", "added #6; 2 messages set aside", ["Now this."]),
    ],
)
def test_add_in_place_of_messages(reel: Reel, talk: str, position: str, out: str, left: list[str]) -> None:
    """``--from`` replaces the conversation from a message on, and one undo takes that back."""
    assert (0, f"{talk}: {out}\n", "") == reel("add", talk, "Now this.", "--from", position)
    assert texts(reel, talk) == left
    assert f"{talk}: undid #5-#6" in reel("undo", talk).out


def test_add_nothing_in_place_of_messages(reel: Reel, talk: str) -> None:
    """``--from`` with an empty file only takes messages away."""
    assert f"{talk}: 1 message set aside\n" == reel("add", talk, "--from", "@last", "--file", "/dev/null").out
    assert ["What is a tape deck?"] == texts(reel, talk)
    assert f"{talk}: undid the rewind (#5)" in reel("undo", talk).out


def test_add_what_is_known(reel: Reel, talk: str, tmp_path: Path) -> None:
    """A message whose reference is in the log already is counted, and not added again."""
    lines = ['{"role":"user","content":"one","ref":"1","sent":5}', '{"role":"user","content":"two","ref":"2"}']
    (tmp_path / "f").write_text(lines[0])
    assert f"{talk}: added #5\n" == reel("add", talk, "--file", str(tmp_path / "f")).out
    (tmp_path / "f").write_text("\n".join(lines))
    assert f"{talk}: added #6; 1 message known already\n" == reel("add", talk, "--file", str(tmp_path / "f")).out

    again = reel("add", talk, "--file", str(tmp_path / "f"))
    assert f"{talk}: 2 messages known already\n" == again.out


def test_add_in_place_of_what_is_not_there(reel: Reel, talk: str) -> None:
    """A position that is not in the conversation is refused, and nothing changes."""
    refused = reel("add", talk, "Now this.", "--from", "99")

    assert (1, "") == (refused.status, refused.out)
    assert f"from: 99 is not in the current conversation {talk}; the newest" in refused.err


def test_add_prints_the_seq(reel: Reel, talk: str) -> None:
    """The output has the seq of the message."""
    assert (0, f"{talk}: added #5\n", "") == reel("add", talk, "And who makes them?")

    assert ["What is a tape deck?", "A machine.", "And who makes them?"] == texts(reel, talk)


@pytest.mark.parametrize(
    ("argv", "stdin", "expected"),
    [
        pytest.param(["-"], b"one\ntwo\n", "one\ntwo", id="a dash"),
        pytest.param([], b"piped", "piped", id="left out"),
        pytest.param([], b"two ends\n\n", "two ends\n", id="one line end goes"),
        pytest.param([], b"dos\r\n", "dos", id="a DOS line end goes"),
        pytest.param([], b"\xff\n", "\ufffd", id="no UTF-8"),
        pytest.param(["--", "--role"], None, "--role", id="looks like an option"),
        pytest.param([""], None, "", id="empty"),
    ],
)
def test_add_takes_text_from_an_argument_or_stdin(
    reel: Reel, name: str, argv: list[str], stdin: bytes | None, expected: str
) -> None:
    """The text comes from the arguments or from stdin."""
    ran = reel("add", "--create", name, *argv, stdin=stdin)

    assert 0 == ran.status
    assert [expected] == texts(reel, name)


def test_add_without_a_text_is_refused(reel: Reel, talk: str) -> None:
    """An empty stdin is refused, and so is a text in place of the agent."""
    assert reel("add", talk, stdin=b"").err.startswith(
        f"reel: usage: stdin was empty, so there is no message for the conversation '{talk}'; "
    )
    assert reel("add", "two words").err.startswith("reel: usage: no text for the conversation 'two words'; ")


def test_add_creates_the_agent_only_with_create(reel: Reel, name: str) -> None:
    """Without --create a missing agent is an error that says how to create it."""
    expected = f"reel: not_found: no conversation {name}; create it with: reel new {name}, or add with --create\n"

    assert (4, "", expected) == reel("add", name, "hi")
    assert (0, f"{name}: added #2\n", "") == reel("add", name, "hi", "--create")


def test_tool_calls_results_and_failures(reel: Reel, talk: str) -> None:
    """Parallel tool calls, their results and a failure are stored as such."""
    reel("add", talk, "--tool-call", "c1", "search", '{"q":1}', "--tool-call", "c2", "read", "{}")
    reel("add", talk, "--tool-result", "c1", "found it")
    reel("add", talk, "--tool-result", "c2", "-", "--error", stdin=b"no such file\n")

    shown = reel("show", talk, "--last", "3").out.splitlines()
    assert [
        "  call search  c1",
        '    {"q":1}',
        "  call read  c2",
        "    {}",
        "",
        "  result of search  c1",
        "    found it",
        "",
        "  error of read  c2",
        "    no such file",
    ] == [line for line in shown if "#" not in line]


def test_result_without_a_call_is_added_and_noted(reel: Reel, talk: str) -> None:
    """A late result is added, with a note."""
    added = reel("add", talk, "--tool-result", "c9", "late")

    assert 0 == added.status
    assert "reel: note: the result #5 is for the call c9, which is not open\n" == added.err


def test_replaced_characters_are_noted(reel: Reel, talk: str) -> None:
    """Invalid characters are replaced, with a note."""
    assert "reel: note: 1 invalid character was replaced by U+FFFD\n" == reel("add", talk, "-", stdin=b"a\x00b").err
    assert (
        "reel: note: 2 invalid characters were replaced by U+FFFD\n" == reel("add", talk, "-", stdin=b"a\xff\x00").err
    )
    assert ["a\ufffdb", "a\ufffd\ufffd"] == texts(reel, talk)[-2:]


def test_numbers_as_text_are_noted(reel: Reel, name: str, tmp_path: Path) -> None:
    """A number that some clients cannot hold is shown as text, with a note."""
    file = tmp_path / "messages.jsonl"
    metadata = f'{{"a": {2**60}, "b": 1e400, "c": {"7" * 5000}}}'
    file.write_text(f'{{"role": "user", "content": "x", "provider_metadata": {metadata}}}\n')
    added = reel("add", name, "--create", "--file", str(file))

    assert "reel: note: shown as text, because some clients cannot hold it: 3 numbers\n" == added.err
    (shown,) = reel("show", name, "--json").documents
    assert {"a": str(2**60), "b": "1e400", "c": "7" * 5000} == shown["provider_metadata"]


def test_file_is_added_by_one_command(reel: Reel, name: str, tmp_path: Path) -> None:
    """Messages, records and strings of a file are one command, which one undo reverts."""
    file = tmp_path / "messages.jsonl"
    file.write_text('"one"\n\n{"role": "assistant", "content": "two"}\n{"kind": "user", "content": "three"}\n')

    assert f"{name}: added #2-#4\n" == reel("add", name, "--create", "--file", str(file)).out
    assert ["one", "two", "three"] == texts(reel, name)
    reel("undo", name)
    assert [] == texts(reel, name)


def test_file_error_names_the_line(reel: Reel, talk: str, tmp_path: Path) -> None:
    """Nothing is added, and the error has the line number."""
    file = tmp_path / "messages.jsonl"
    file.write_text('"one"\n\n{"role": "robot", "content": "two"}\n')

    refused = reel("add", talk, "--file", str(file))

    assert 1 == refused.status
    assert refused.err.startswith(f"reel: invalid_message: {file} line 3: messages[1].role: ")
    assert 2 == len(texts(reel, talk))


@pytest.mark.parametrize("options", [[], ["--records"]])
def test_conversation_can_be_piped_into_another(reel: Reel, talk: str, options: list[str]) -> None:
    """add accepts what show prints as JSON; with --records that includes the system prompt."""
    copied = reel("show", talk, "--json", *options).out.encode()
    reel("add", f"{talk}-copy", "--create", "--file", "-", stdin=copied)

    assert texts(reel, talk) == texts(reel, f"{talk}-copy")
    assert reel("info", f"{talk}-copy", "--json").documents[0]["system"] == ("Be brief." if options else None)


@pytest.mark.slow
def test_too_many_lines_are_refused_with_a_remedy(reel: Reel, talk: str) -> None:
    """A file that is too large for one command is refused with the command that adds it in parts."""
    refused = reel("add", talk, "--file", "-", stdin=b'"x"\n' * 70_000)

    assert (1, "") == (refused.status, refused.out)
    assert (
        "reel: too_large: 70,000 messages are more than one command can add (65,536, and 16 MiB); "
        f"add them in parts with: split -l 5000 '--filter=reel add {talk} --file -' -\n"
    ) == refused.err
    assert reel("add", talk, "--file", "-", stdin=b'"' + b"x" * (17 << 20) + b'"').err.endswith("; send it in parts\n")


def test_a_text_that_is_too_large_is_measured(reel: Reel, talk: str) -> None:
    """The error for a text over the limit says how large it was."""
    refused = reel("add", talk, "-", stdin=b"x" * (17 << 20))

    assert (1, "") == (refused.status, refused.out)
    assert re.search(r"a message may have 16777216 bytes, this one has 178259\d\d; send it in parts\n", refused.err)
