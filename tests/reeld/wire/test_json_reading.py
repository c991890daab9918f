"""JSON-RPC without any I/O: bytes go in in pieces of any size, and the same frames come out.

Rules that the tests of JSON-RPC keep: what is expected is written and read by json itself, not by the framing; every
stream is also fed one byte at a time.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.values import Numeral
from reel.wire.frames import Frame, Notification, Request, Response
from tests.reeld.wire.frames import fed, one_by_one, readable
from tests.reeld.wire.json_rpc import LAY, Json, both, ids, makes, plain, taken, texts

pytestmark = pytest.mark.slow

calls = st.fixed_dictionaries(
    {"method": texts}, optional={"jsonrpc": st.just("2.0"), "id": ids, "params": plain, "more": plain}
)
answers = st.fixed_dictionaries({"id": ids | st.none()}, optional={"result": plain, "error": plain}).filter(
    lambda message: len(message) > 1
)
pieces_of_junk = (
    st.binary(max_size=30)
    | calls.map(json.dumps).map(str.encode)
    | st.sampled_from([b"Content-Length: 2\r\n\r\n{}", b"content-length:3\n\n", b"\n", b"\r\n", b"[]", b'"\xff"', b"{"])
)


def frame_of(message: dict[str, Any], size: int) -> Frame:
    """Return the frame that a message should become."""
    if "method" not in message:
        return Response(message["id"], message.get("error"), message.get("result"))
    if "id" in message:
        return Request(message["id"], message["method"], message.get("params"), size)
    return Notification(message["method"], message.get("params"), size)


@given(makes, st.lists(calls | answers, max_size=5), st.booleans())
def test_what_was_sent_comes_in_in_json_rpc(make: Json, sent: list[dict[str, Any]], ascii_only: bool) -> None:
    """A stream of messages becomes their frames, in order, each with its length."""
    bodies = [json.dumps(message, ensure_ascii=ascii_only).encode() for message in sent]
    stream = b"".join(map(LAY[make], bodies))
    expected = [frame_of(message, len(each)) for message, each in zip(sent, bodies, strict=True)]

    assert expected == fed(make(), [stream])
    assert expected == fed(make(), one_by_one(stream))


@given(makes, st.integers(0, 200), st.lists(pieces_of_junk, max_size=8), st.lists(st.integers(1, 50), max_size=8))
def test_junk_reads_the_same_in_any_pieces_in_json_rpc(
    make: Json, limit: int, parts: list[bytes], cuts: list[int]
) -> None:
    """However a stream is cut, the frames are the same, and nothing is raised, not even by its end."""
    stream = rest = b"".join(parts)
    pieces = []
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]

    found = []
    for cutting in ([stream], [*pieces, rest], one_by_one(stream)):
        framing = make(limit)
        found.append([*fed(framing, cutting), *map(readable, framing.end())])
    assert found[0] == found[1] == found[2]


@both
@pytest.mark.parametrize("length", [60_000, 65_536, 1_000_000])
def test_a_long_message_in_json_rpc(make: Json, length: int) -> None:
    """A message much longer than one read arrives whole."""
    message = json.dumps({"method": "x", "params": ["y" * length]}).encode()
    data = LAY[make](message)
    framing = make()
    (frame,) = (frame for start in range(0, len(data), 1000) for frame in framing.feed(data[start : start + 1000]))

    assert isinstance(frame, Notification)
    assert ["y" * length] == frame.params


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'"\xff"', "\udcff"),
        (b'"a\x80b"', "a\udc80b"),
        (b'"\xed\xa0\x80"', "\udced\udca0\udc80"),
        (b'"\\ud800"', "\ud800"),
        (b'"\\u0000"', "\x00"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"\U0001f600\u2028"'.encode(), "\U0001f600\u2028"),
        (b"9007199254740993", 2**53 + 1),
        (b"1e999", Numeral("1e999")),
        (b"9" * 5000, Numeral("9" * 5000)),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"[" * 500 + b"]" * 500, None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_value_that_comes_in(make: Json, text: bytes, expected: Any) -> None:
    """Values that are not plain, too large or too deep arrive, so that one parameter can be cleaned or refused."""
    frame = taken(make, b'{"id":7,"method":"x","params":' + text + b"}")

    assert 7 == frame.id
    assert expected is None or expected == frame.params


@both
def test_the_stream_ends_between_messages(make: Json) -> None:
    """The end of a stream between two messages is not an error."""
    framing = make()
    framing.feed(LAY[make](b'{"method":"x"}'))

    assert [] == framing.end()


@both
def test_what_is_held_in_json_rpc(make: Json) -> None:
    """A framing reports how many bytes of an incomplete message it keeps."""
    framing = make()
    message = LAY[make](b'{"id":1,"method":"ping"}')

    assert 0 == framing.held
    framing.feed(message + message[:-1])
    assert len(b'{"id":1,"method":"ping"') <= framing.held <= len(message)
    framing.feed(message[-1:])
    assert 0 == framing.held
