"""JSON-RPC behind headers: Content-Length says where a message ends."""

from collections.abc import Callable

import pytest

from reel.base.errors import ParseError, TooLarge
from reel.wire.frames import Notification
from reeld.wire.json_framing import ContentLength
from tests.reeld.wire.frames import fed, one_by_one, readable
from tests.reeld.wire.json_rpc import headed, taken

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 14\r\n\r\n",
        b"content-length:14\r\n\r\n",
        b"CONTENT-LENGTH \t:  014 \t\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 14\r\n\r\n",
        b"Content-Length: 14\r\nX-Content-Length: 7\r\nanything\r\n\r\n",
        b"Content-Length: 14\n\n",
    ],
)
def test_a_header_that_is_accepted(header: bytes) -> None:
    """Headers accept any case, spaces, other headers, and plain newlines."""
    stream = (header + b'{"method":"x"}') * 2

    assert [Notification("x", None, 14)] * 2 == fed(ContentLength(), [stream])
    assert [Notification("x", None, 14)] * 2 == fed(ContentLength(), one_by_one(stream))


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1.5\r\n\r\n",
        b"Content-Length: 1 4\r\n\r\n",
        b"Content-Length: \xd9\xa1\r\n\r\n",
        b"Content-Length: 14\r\nContent-Length: 14\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"C" * 5000,
        b"C: x\r\n" * 800 + b"Content-Length: 14\r\n\r\n",
    ],
    ids=lambda header: repr(header[:40]),
)
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
def test_a_header_that_loses_the_stream(header: bytes, cut: Callable[[bytes], list[bytes]]) -> None:
    """If the next message cannot be found, the error says what was expected, and nothing more is read."""
    framing = ContentLength()
    good = headed(b'{"method":"x"}')

    first, (error, text, fatal) = fed(framing, cut(good + header + good))
    assert first == Notification("x", None, 14)
    assert (ParseError, True) == (error, fatal)
    assert text.startswith("parse_error: a message begins with Content-Length: N")
    assert ([], []) == (framing.feed(good), framing.end())


@pytest.mark.parametrize("length", [101, 10**15 - 1])
def test_a_length_over_the_limit(length: int) -> None:
    """A message over the limit is refused before it arrives."""
    ((error, text, fatal),) = fed(ContentLength(100), [f"Content-Length: {length}\r\n\r\n".encode()])

    expected = f"too_large: a message may have 100 bytes, this one has {length}; send it in parts"
    assert (TooLarge, expected, True) == (error, text, fatal)


def test_a_length_at_the_limit() -> None:
    """A message may be as long as the limit."""
    (frame,) = ContentLength(100).feed(headed(b'{"method":"x"}'.ljust(100)))

    assert frame == Notification("x", None, 100)


def test_an_empty_message() -> None:
    """An empty message in a good frame is not JSON."""
    error, _, fatal = taken(ContentLength, b"")

    assert (ParseError, False) == (error, fatal)


@pytest.mark.parametrize("rest", [b"C", b"Content-Length: 14\r\n\r\n", b'Content-Length: 14\r\n\r\n{"method":"x"'])
def test_the_stream_ends_inside_a_message(rest: bytes) -> None:
    """A peer that announced too many bytes and closed its end gets an error."""
    framing = ContentLength()
    assert [] == framing.feed(rest)

    assert [(ParseError, "parse_error: the stream ended inside a message", True)] == list(map(readable, framing.end()))
    assert [] == framing.end()
