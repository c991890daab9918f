"""The limits of a MessagePack message: its bytes, its elements and its values."""

import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import TooLarge
from reel.wire.frames import MAX_ELEMENTS, MAX_MESSAGE, InvalidFrame, Notification, Request
from reeld.wire.msgpack_framing import ServerMessagePack
from reeld.wire.sizes import MAX_VALUES
from tests.reeld.wire.frames import fed, one_by_one
from tests.reeld.wire.messagepack import PING, PINGED, names

pytestmark = pytest.mark.slow


def sizes(framing: ServerMessagePack, data: bytes) -> list[int]:
    """Return the memory cost of each request."""
    return [frame.size for frame in framing.feed(data) if isinstance(frame, Request)]


def fault(data: bytes, max_message: int = MAX_MESSAGE) -> InvalidFrame:
    """Return the one fatal frame of a stream."""
    (frame,) = ServerMessagePack(max_message).feed(data)
    assert isinstance(frame, InvalidFrame)
    assert frame.fatal
    return frame


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@given(st.integers(0, 256), st.lists(st.integers(0, 400), max_size=5))
def test_the_limit_reads_the_same_in_any_pieces(values: int | None, limit: int, lengths: list[int]) -> None:
    """Whether a message is too long does not depend on how it came."""
    sent = [msgpack.packb([2, "x", "y" * length]) for length in lengths]
    good = [len(message) <= limit for message in sent]
    expected = good.index(False) if False in good else len(sent)

    for pieces in ([b"".join(sent)], sent, one_by_one(b"".join(sent))):
        frames = fed(ServerMessagePack(limit, values), pieces)
        assert [Notification] * expected + [tuple] * (not all(good)) == [type(frame) for frame in frames]


@pytest.mark.parametrize("values", [None, MAX_VALUES])
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
@pytest.mark.parametrize("length", [0, 100, 70_000])
def test_a_message_at_the_limit_in_msgpack(cut: Any, length: int, values: int | None) -> None:
    """The limit is inclusive; one more byte is too many."""
    message = msgpack.packb([2, "x", "y" * length])
    size = len(message)

    assert fed(ServerMessagePack(size, values), cut(message)) == [Notification("x", "y" * length, size)]
    ((error, _, fatal),) = fed(ServerMessagePack(size - 1, values), cut(message))
    assert (TooLarge, True) == (error, fatal)


def test_a_message_over_the_limit_says_the_limit() -> None:
    """The error for a message that is too long states the limit."""
    error = fault(msgpack.packb([2, "x", "y" * 100]), max_message=50).error

    assert isinstance(error, TooLarge)
    assert "50 bytes" in error.message
    assert {"limit": 50} == error.data


@pytest.mark.parametrize("values", [None, MAX_VALUES])
def test_a_message_over_the_limit_is_not_waited_for(values: int | None) -> None:
    """A message over the limit is refused before its end arrives; earlier messages count."""
    framing = ServerMessagePack(100, values)
    endless = b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff" + b"y" * 100

    first, (error, _, fatal) = fed(framing, [PING + endless])
    assert first == PINGED
    assert (TooLarge, True) == (error, fatal)


@pytest.mark.parametrize("values", [None, MAX_VALUES])
def test_the_decoder_has_a_bound_of_its_own(values: int | None) -> None:
    """Even if the count of buffered bytes were wrong, the decoder would refuse to buffer more than its limit."""
    framing = ServerMessagePack(50, values)
    framing.feed(b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff")
    careful: Any = framing._reader._pieces
    careful._max = 1 << 30

    ((error, _, fatal),) = fed(framing, [b"y" * 100_000, PING])
    assert (TooLarge, True) == (error, fatal)


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537,
        b"\x94\x00\x01\xa1x\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537,
        b"\xdf\x00\x01\x00\x01" + b"\xc0\xc0" * 65_537,
    ],
    ids=lambda data: data[:10].hex(),
)
def test_too_many_elements(data: bytes) -> None:
    """An array or a map over the limit is refused; earlier messages count."""
    first, (error, text, fatal) = fed(ServerMessagePack(), [PING + data + PING])

    assert first == PINGED
    assert (TooLarge, True) == (error, fatal)
    assert text.endswith("send it in parts")


def test_too_many_elements_says_the_limit() -> None:
    """The error for too many elements states the limit."""
    error = fault(b"\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537).error

    assert "65536" in error.message
    assert {"limit": MAX_ELEMENTS} == error.data
    assert 65_536 == MAX_ELEMENTS


@pytest.mark.parametrize(
    "header",
    [b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff" * 900, b"\xdc\x00\x80" * 900, b"\xdc\xff\xff" + b"\x90" * 60_000],
)
def test_a_header_is_not_believed(header: bytes) -> None:
    """To the daemon, a promised length takes no memory; an incomplete message takes the memory of its bytes."""
    framing = ServerMessagePack(max_values=MAX_VALUES)
    piece = b"\x94\x00\x01\xa1x" + header
    tracemalloc.start()
    frames = framing.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [] == frames
    assert len(piece) <= framing.held <= 2 * len(piece)
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("params", "values"),
    [([], 5 + 1), ([[]] * 3, 5 + 4 + 3), ({"a": [], "b": {}}, 5 + 5 + 2)],
    ids=str,
)
def test_values_at_the_limit_in_msgpack(params: Any, values: int) -> None:
    """The limit of values is inclusive; one more is refused, and the error states the limit."""
    message = msgpack.packb([0, 1, "x", params])

    assert isinstance(ServerMessagePack(MAX_MESSAGE, values).feed(message)[0], Request)
    (broken,) = ServerMessagePack(MAX_MESSAGE, values - 1).feed(message)
    assert isinstance(broken, InvalidFrame)
    assert broken.fatal
    assert isinstance(broken.error, TooLarge)
    assert {"limit": values - 1} == broken.error.data


def test_many_values_weigh_more() -> None:
    """The memory of many values counts for their request; a client does not count it."""
    few, many = (msgpack.packb([0, 1, "x", [[]] * count]) for count in (10, 10_000))

    assert [len(few)] == sizes(ServerMessagePack(MAX_MESSAGE, MAX_VALUES), few)
    assert [len(many)] == sizes(ServerMessagePack(), many)
    assert [len(many) + 80 * 20_006] == sizes(ServerMessagePack(MAX_MESSAGE, MAX_VALUES), many)


def test_values_weigh_more_in_a_short_message() -> None:
    """The values of a message that arrives whole in a short piece are counted as well, whatever their lists hold."""
    message = msgpack.packb([0, 1, "x", [[[]] * 100] * 20])

    # The message, its parameters, the lists in these, and the empty ones: each list, and each value in it.
    assert [len(message) + 80 * (1 + 4 + 1 + 20 + 20 * (1 + 100) + 20 * 100)] == sizes(
        ServerMessagePack(MAX_MESSAGE, MAX_VALUES), message
    )


@given(st.recursive(st.just("x" * 40), lambda inner: st.lists(inner, max_size=300) | st.dictionaries(names, inner)))
def test_a_whole_message_weighs_the_same_as_its_pieces(params: Any) -> None:
    """What a message weighs does not depend on how it came."""
    message = msgpack.packb([0, 1, "x", params])
    whole, cut = ServerMessagePack(MAX_MESSAGE, MAX_VALUES), ServerMessagePack(MAX_MESSAGE, MAX_VALUES)

    assert whole.feed(message) == [*cut.feed(message[:-1]), *cut.feed(message[-1:])]


def test_the_daemons_limit_is_the_protocols_in_msgpack() -> None:
    """A message may have 16 MiB by default."""
    assert 16 * 1024 * 1024 == MAX_MESSAGE


def test_an_idle_connection_is_small() -> None:
    """A connection on which nothing is incomplete keeps no decoder, which would be 45 KB."""
    tracemalloc.start()
    framings = [ServerMessagePack(MAX_MESSAGE, MAX_VALUES) for _ in range(50)]
    assert all([PINGED] == framing.feed(PING) for framing in framings)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size < 50 * 10_000
