"""What ``add`` makes of its arguments and of a file."""

from typing import Any

import pytest

from reel.cli.adding import Given, parse_lines, tool_calls
from reel.cli.words import UsageError
from reel.errors import InvalidMessage


def test_lines_are_messages_records_and_strings() -> None:
    """Blank lines are passed over, errors can still name the right one, and what no text can have is counted."""
    lines = [b'{"role":"user","content":"hi"}\n', b"\n", b'"one \\ud83d text"\n', b'{"kind":"note","content":"x"}']

    assert Given(
        [{"role": "user", "content": "hi"}, "one \ufffd text", {"kind": "note", "content": "x"}], [1, 3, 4], 1
    ) == parse_lines(lines, "f")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"[1]", "f line 2: expected a message, a record or a string"),
        (b"null", "f line 2: expected a message, a record or a string"),
        (b'{"role": 1e999}', "f line 2: a number that is not finite"),
        (b'{"content": 99999999999999999999}', "f line 2: an integer beyond ±(2^53-1)"),
        (b'{"content": %s}' % (b"[" * 14 + b"]" * 14), "f line 2: lists and maps nested too deep"),
        (b"{", "f line 2: no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'"\xff"', "f line 2: no JSON: 'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"),
    ],
)
def test_line_that_is_no_message_is_named(line: bytes, expected: str) -> None:
    """Nothing is sent, and the error says where to look."""
    with pytest.raises(InvalidMessage) as caught:
        parse_lines([b'"fine"\n', line], "f")

    assert expected == caught.value.message


def test_empty_file_is_a_mistake() -> None:
    """A file without a message was not meant."""
    with pytest.raises(UsageError, match="f has no message in it"):
        parse_lines([b"\n", b" \n"], "f")


def test_calls_share_a_message() -> None:
    """Parallel calls stay together."""
    expected: Any = {
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": "c1", "name": "search", "arguments": "{}"},
            {"type": "tool_call", "id": "c2", "name": "read", "arguments": "[]"},
        ],
    }

    assert expected == tool_calls([["c1", "search", "{}"], ["c2", "read", "[]"]])
