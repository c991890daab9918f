"""Long texts in MessagePack that arrive in pieces: their bytes are kept once, and they end where they end."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import TooLarge
from reel.wire.frames import MAX_MESSAGE, InvalidFrame, Request
from reeld.wire.msgpack_framing import ServerMessagePack
from reeld.wire.sizes import MAX_VALUES

MEGABYTE = 1 << 20
PIECE = 1 << 16


def message(*texts: Any) -> bytes:
    """Return a request with these parameters."""
    data: bytes = msgpack.packb([0, 1, "x", list(texts)])
    return data


def pieces(data: bytes, size: int = PIECE) -> Iterator[bytes]:
    """Yield bytes as they are read from a socket."""
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("texts", [["a" * 8 * MEGABYTE], [b"a" * 8 * MEGABYTE], [1, "b", ["a" * 8 * MEGABYTE]]])
def test_half_a_text_is_kept_once(texts: list[Any]) -> None:
    """An incomplete text takes its bytes in memory, and not a copy of them."""
    data, framing = message(*texts), ServerMessagePack(MAX_MESSAGE, MAX_VALUES)
    halves = list(pieces(data[: len(data) // 2]))
    tracemalloc.start()
    for piece in halves:
        assert [] == framing.feed(piece)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(data) // 2 <= framing.held <= taken <= len(data) * 0.65


def test_copies_are_counted() -> None:
    """What the decoder has copied of texts before the incomplete one counts as well."""
    data, framing = message("a" * 4 * MEGABYTE, "b" * 4 * MEGABYTE), ServerMessagePack(MAX_MESSAGE, MAX_VALUES)
    tracemalloc.start()
    for piece in pieces(data[:-PIECE]):
        assert [] == framing.feed(piece)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 0.9 * framing.held <= taken <= 1.6 * framing.held  # buffers grow by more than what they need


def test_a_text_that_can_never_fit() -> None:
    """A text that is longer than a message may be is refused as soon as its length is known."""
    framing = ServerMessagePack(MEGABYTE, MAX_VALUES)
    data = message("a" * 2 * MEGABYTE)
    frames = [frame for piece in pieces(data[: 4 * PIECE]) for frame in framing.feed(piece)]

    assert [(InvalidFrame, TooLarge)] == [(type(frame), type(frame.error)) for frame in frames]  # type: ignore[union-attr]
    assert 0 == framing.held


# Bytes that look like the beginning of another text, to stand before and in a text.
HEADS = st.sampled_from([b"\xda\xff\xff", b"\xdb\x00\x10\x00\x00", b"\xc6\x00\x00\xff\xff", b"\xc9\xff", b"\xdb"])
TEXTS = st.one_of(
    st.integers(0, 3 * PIECE).map(lambda length: "a" * length),
    st.tuples(HEADS, st.integers(0, 2 * PIECE)).map(lambda drawn: drawn[0] + b"a" * drawn[1]),
    st.integers(0, 70_000).map(lambda length: msgpack.ExtType(5, b"\xdb" * length)),
    st.lists(HEADS, max_size=5),
)


@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=3), st.integers(1000, 3 * PIECE))
def test_every_message_ends_where_it_ends(calls: list[list[Any]], size: int) -> None:
    """However the bytes are cut, and whatever they look like, each message comes as soon as its last byte is there."""
    framing = ServerMessagePack(MAX_MESSAGE, MAX_VALUES)
    for texts in calls:
        data = message(*texts)
        frames = [frame for piece in pieces(data[:-1], size) for frame in framing.feed(piece)]
        (frame,) = framing.feed(data[-1:])

        assert [] == frames
        assert isinstance(frame, Request)
        assert texts == frame.params
        assert 0 == framing.held
