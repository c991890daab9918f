"""JSON-RPC in lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.mcp.protocol.frames import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Lines,
    Notification,
    ProtocolError,
    Reply,
    Request,
    Unreadable,
    error_line,
    read_frame,
    result_line,
)


def test_messages() -> None:
    """A line is a request, a notification or a reply."""
    assert Request(1, "ping", {}) == read_frame(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert Request("a", "x", {"b": 1}) == read_frame(b'{"id":"a","method":"x","params":{"b":1}}')
    assert Notification("n", {}) == read_frame(b'{"method":"n"}')
    assert Reply("r", {"roots": []}) == read_frame(b'{"id":"r","result":{"roots":[]}}')
    assert Reply(None, 5) == read_frame(b'{"id":[],"result":5}')
    assert Reply("r", None) == read_frame(b'{"id":"r","error":{"code":1,"message":""}}')


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"not json", None, PARSE_ERROR),
        (b"\xff", None, PARSE_ERROR),
        (b"[" * 100_000, None, PARSE_ERROR),
        (b"[]", None, INVALID_REQUEST),
        (b"{}", None, INVALID_REQUEST),
        (b'{"id":7,"method":5}', 7, INVALID_REQUEST),
        (b'{"id":7,"method":"x","params":[]}', 7, INVALID_REQUEST),
        (b'{"id":null,"method":"x"}', None, INVALID_REQUEST),
        (b'{"id":true,"method":"x"}', None, INVALID_REQUEST),
    ],
)
def test_what_is_no_message(line: bytes, number: int | None, code: int) -> None:
    """Anything else is answered with an error, under its id if it has one."""
    found = read_frame(line)

    assert isinstance(found, Unreadable)
    assert (number, code) == (found.id, found.error.code)


def test_half_a_character() -> None:
    """A text with half a character is mended: what repeats it can be sent."""
    found = read_frame(rb'{"id":1,"method":"x","params":{"query":"\ud800"}}')

    assert Request(1, "x", {"query": "\ufffd"}) == found


def test_replies() -> None:
    """A reply is one line."""
    failed = error_line(None, ProtocolError(-1, "no", {"a": "b\n"}))

    assert {"jsonrpc": "2.0", "id": "a", "result": {"x": "\n"}} == json.loads(result_line("a", {"x": "\n"}))
    assert b"\n" not in result_line("a", {"x": "\n"})[:-1]
    assert {"code": -1, "message": "no", "data": {"a": "b\n"}} == json.loads(failed)["error"]


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)), st.lists(st.integers(1, 5)))
def test_lines_in_pieces(lines: list[bytes], cuts: list[int]) -> None:
    """Lines are the same in whatever pieces they arrive; blank ones are skipped."""
    data, found, reader = b"\n".join(lines), list[bytes](), Lines()
    for cut in [*cuts, len(data)]:
        found += reader.feed(data[:cut])
        data = data[cut:]

    assert [line for line in lines if line.strip()] == found + reader.end()


def test_a_line_that_is_too_long() -> None:
    """A line over the limit is cut, the rest of it is skipped, and the next one is read."""
    reader = Lines(limit=8)

    assert [] == reader.feed(b"12345678")
    assert [b"12345678"] == reader.feed(b"9")
    assert [] == reader.feed(b"more of it")
    assert [b"next"] == reader.feed(b"end\nnext\n")
