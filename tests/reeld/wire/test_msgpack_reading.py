"""MessagePack without any I/O: bytes go in in pieces of any size, and the same frames come out.

Rules that the tests of MessagePack keep: what is expected is packed and read by msgpack itself, not by the session;
every stream is also fed one byte at a time; what is behind a fatal frame is fed as well, and nothing comes of it.
"""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.wire.frames import MAX_MESSAGE, Frame, Notification, Request, Response
from reeld.wire.msgpack_framing import ServerMessagePack
from reeld.wire.sizes import MAX_VALUES
from tests.reeld.wire.frames import fed, one_by_one
from tests.reeld.wire.messagepack import PING, PINGED, ids, names, plain

pytestmark = pytest.mark.slow

messages = (
    st.tuples(st.just(0), ids, names, plain)
    | st.tuples(st.just(1), ids | st.none(), plain, plain)
    | st.tuples(st.just(2), names, plain)
)


def frame_of(message: Any) -> Frame:
    """Return the frame that a message should become."""
    size = len(msgpack.packb(message))
    match message:
        case (0, request_id, method, params):
            return Request(request_id, method, params, size)
        case (1, request_id, error, result):
            return Response(request_id, error, result)
    return Notification(message[1], message[2], size)


@given(st.lists(messages, max_size=6))
def test_what_was_sent_comes_in_in_msgpack(sent: list[Any]) -> None:
    """A stream of messages becomes their frames, in order, each with its length."""
    stream = b"".join(map(msgpack.packb, sent))

    assert [frame_of(message) for message in sent] == fed(ServerMessagePack(), [stream])


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@given(st.lists(messages, max_size=4))
def test_one_byte_at_a_time_in_msgpack(values: int | None, sent: list[Any]) -> None:
    """Bytes that arrive one at a time make the same frames as all at once."""
    stream = b"".join(map(msgpack.packb, sent))

    assert [frame_of(message) for message in sent] == fed(ServerMessagePack(MAX_MESSAGE, values), one_by_one(stream))


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@given(st.lists(messages.map(msgpack.packb) | st.binary(max_size=30), max_size=5), st.lists(st.integers(1, 50)))
def test_junk_reads_the_same_in_any_pieces_in_msgpack(values: int | None, parts: list[bytes], cuts: list[int]) -> None:
    """However a stream is cut, the frames are the same, and nothing is raised."""
    stream = rest = b"".join(parts)
    pieces = []
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]

    at_once = fed(ServerMessagePack(MAX_MESSAGE, values), [stream])
    assert at_once == fed(ServerMessagePack(MAX_MESSAGE, values), [*pieces, rest])
    assert at_once == fed(ServerMessagePack(MAX_MESSAGE, values), one_by_one(stream))


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@pytest.mark.parametrize("pieces", [[], [b""], [b"", b""], [PING[:-1]], one_by_one(PING[:-1]), [b"\xdd"]])
def test_a_truncated_frame_is_silent(pieces: list[bytes], values: int | None) -> None:
    """Half a message makes no frame yet."""
    assert [] == fed(ServerMessagePack(MAX_MESSAGE, values), pieces)


def test_a_frame_over_two_pieces() -> None:
    """The end of one message and the beginning of the next may arrive together."""
    framing = ServerMessagePack()

    assert [PINGED] == fed(framing, [PING + PING[:3]])
    assert [PINGED] == fed(framing, [PING[3:]])


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@pytest.mark.parametrize("length", [60_000, 65_536, 200_000, 1_000_000])
def test_a_long_message_in_msgpack(length: int, values: int | None) -> None:
    """A message much longer than one read arrives whole, and so does the one behind it."""
    message = msgpack.packb([2, "x", "y" * length])

    assert fed(ServerMessagePack(MAX_MESSAGE, values), [message + PING]) == [
        Notification("x", "y" * length, len(message)),
        PINGED,
    ]


def test_what_comes_is_had_at_once() -> None:
    """Feeding returns a list, so bytes are read even if nobody looks at the frames."""
    framing = ServerMessagePack()

    assert [PINGED, PINGED] == framing.feed(PING + PING)
    assert [] == framing.feed(b"")


@pytest.mark.parametrize("values", [None, MAX_VALUES])
def test_what_is_held_in_msgpack(values: int | None) -> None:
    """A framing reports how many bytes of an incomplete message it keeps, and drops them after a fatal frame."""
    framing = ServerMessagePack(MAX_MESSAGE, values)

    assert 0 == framing.held
    framing.feed(PING + PING[:-1])
    assert len(PING) - 1 <= framing.held <= 2 * len(PING)  # the decoder that skips it may have a copy
    framing.feed(PING[-1:])
    assert 0 == framing.held
    framing.feed(PING[:-1])
    framing.feed(b"\xc1")
    assert 0 == framing.held


def test_a_large_array_that_comes() -> None:
    """Arrays may be large if their elements arrive."""
    message = msgpack.packb([2, "x", [None] * 65_536])

    assert fed(ServerMessagePack(), [message]) == [Notification("x", [None] * 65_536, len(message))]


@pytest.mark.parametrize("levels", [17, 600, 1_000])
def test_a_message_that_is_deep(levels: int) -> None:
    """Deep values arrive, so that the one request can be refused and the stream continues."""
    first, second = fed(ServerMessagePack(), [b"\x94\x00\x07\xa1x" + b"\x91" * levels + b"\xc0" + PING])
    value, found = first.params, 0
    while isinstance(value, list):
        (value,) = value
        found += 1

    assert (7, levels) == (first.id, found)
    assert second == PINGED


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff", "\udcff"),
        (b"a\x80b", "a\udc80b"),
        (b"\xc3", "\udcc3"),
        (b"\xed\xa0\x80", "\udced\udca0\udc80"),
        (b"\xf0\x9f\x98", "\udcf0\udc9f\udc98"),
        (b"\x00", "\x00"),
        ("\U0001f600".encode(), "\U0001f600"),
    ],
)
def test_bytes_that_are_no_utf8(data: bytes, expected: str) -> None:
    """Invalid UTF-8 arrives as lone surrogates, one per byte, to be cleaned or refused later."""
    text = bytes([0xA0 + len(data)]) + data
    message = b"\x93\x02" + text + b"\x82" + text + b"\x01\x01" + text

    assert fed(ServerMessagePack(), [message]) == [Notification(expected, {expected: 1, 1: expected}, len(message))]


@pytest.mark.parametrize(
    "value", [{1: 2}, {None: 1}, {b"k": 1}, b"raw", msgpack.ExtType(5, b"x"), msgpack.Timestamp(1)]
)
def test_what_no_other_framing_has(value: Any) -> None:
    """Values that are not plain arrive, so that the one request can be refused by its field."""
    (frame,) = ServerMessagePack().feed(msgpack.packb([0, 1, "x", value]))

    assert isinstance(frame, Request)
    assert value == frame.params


def test_both_directions_are_apart() -> None:
    """Sending during an incoming message affects neither."""
    framing = ServerMessagePack()

    assert [] == fed(framing, [PING[:3]])
    assert framing.request(1, "ping", []) == PING
    assert [PINGED] == fed(framing, [PING[3:]])


def test_the_end_of_the_stream_says_nothing() -> None:
    """A message that is cut off at the end is dropped."""
    framing = ServerMessagePack()

    assert [] == framing.feed(PING[:3]) + framing.end()
