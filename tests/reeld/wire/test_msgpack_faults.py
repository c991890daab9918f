"""A MessagePack message that is not a request is refused alone; bytes that cannot be decoded end the stream."""

from typing import Any

import msgpack
import pytest

from reel.base.errors import InvalidRequest, ParseError
from reel.wire.frames import InvalidFrame
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.reeld.wire.frames import fed, one_by_one
from tests.reeld.wire.messagepack import PING, PINGED

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"\xdd\xff\xff\xff\xff" + b"\xc0" * 200,
        msgpack.packb([2, "x", "y" * 200]),
        b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff" + b"y" * 200_000,
    ],
    ids=["junk", "a header", "a message", "an endless one"],
)
def test_nothing_comes_after_a_fatal_frame(data: bytes) -> None:
    """After a fatal frame nothing more is read, and the error comes once."""
    framing = ServerMessagePack(100)
    (broken,) = framing.feed(data + PING)
    assert isinstance(broken, InvalidFrame)

    assert broken.fatal
    assert [[], [], [], []] == [framing.feed(piece) for piece in (PING, b"", data, PING * 20)]


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"\x94\x00\x01\xc1",
        b"\x93\x02\xa1x\x81\x90\x01",
        b"\x93\x02\xa1x\x81\x80\x01",
        b"\x93\x02\xa1x\xd4\xff\x01",
        b"\x91" * 100_000,
        b"\x81\x01" * 100_000,
    ],
    ids=lambda data: data[:12].hex(),
)
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
def test_the_place_is_lost(data: bytes, cut: Any) -> None:
    """Bytes that no decoder can recover from end the stream: earlier messages count, later ones are not read."""
    first, (error, text, fatal) = fed(ServerMessagePack(), cut(PING + data + PING))

    assert first == PINGED
    assert (ParseError, True) == (error, fatal)
    assert text.startswith("parse_error: not MessagePack")


def test_the_place_is_lost_early_in_a_long_piece() -> None:
    """Nothing behind a fatal frame is read, however much has arrived."""
    ((error, _, fatal),) = fed(ServerMessagePack(), [b"\xc1" + PING * 50_000])

    assert (ParseError, True) == (error, fatal)


@pytest.mark.parametrize(
    "message",
    [
        *(None, True, 0, 1.5, "ping", b"ping", {}, {"method": "ping"}, {0: 1}),
        *([], [0], [0, 1], [0, 1, "ping"], [0, 1, "ping", [], None], [2], [2, "ping"], [2, "ping", [], None]),
        *([0, True, "ping", []], [0, False, "ping", []], [0, 1.0, "ping", []], [0, 2**63 * 1.0, "ping", []]),
        *([0, None, "ping", []], [0, "1", "ping", []], [0, 1.5, "ping", []], [0, [], "ping", []]),
        *([0, 1, None, []], [0, 1, 5, []], [0, 1, b"ping", []], [2, None, []], [2, b"ping", []]),
        *([1, "1", None, {}], [1, 1.5, None, {}], [1, 1, None], [3, 1, "ping", []], [-1, 1, "ping", []]),
        *(["0", 1, "ping", []], [None, 1, "ping", []], [[0, 1, "ping", []]], msgpack.ExtType(5, b"x")),
    ],
    ids=repr,
)
def test_a_message_that_is_no_request_in_msgpack(message: Any) -> None:
    """A message that is not a request is refused alone, and the stream continues."""
    (error, text, fatal), second = fed(ServerMessagePack(), [msgpack.packb(message) + PING])

    assert (InvalidRequest, False) == (error, fatal)
    assert "[0, id, method, params]" in text
    assert second == PINGED
