"""The first byte of a connection decides its framing."""

import pytest

from reel.base.errors import TooLarge
from reel.wire.frames import InvalidFrame
from reeld.wire.detection import detect
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.reeld.wire.messagepack import PING

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(256))
def test_the_first_byte_tells_the_framing(first: int) -> None:
    """A connection starts with an array, a header or a JSON message, or it is refused."""
    framing = detect(first)
    if 0x90 <= first <= 0x9F or first in {0xDC, 0xDD}:
        expected = "msgpack-rpc"
    elif chr(first) in "Cc":
        expected = "json-rpc"
    elif chr(first) in "{[ \t\r\n":
        expected = "json-rpc-lines"
    else:
        expected = None

    assert expected == (None if framing is None else framing.name)


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (PING, len(PING) - 1),
        (b'{"id": 1, "method": "ping"}\n', 26),
        (b"Content-Length: 27\r\n\r\n", 26),
    ],
)
def test_a_detected_framing_has_its_limit(message: bytes, limit: int) -> None:
    """The detected framing gets the daemon's limits."""
    framing = detect(message[0], limit)
    assert framing is not None

    assert [TooLarge] == [type(frame.error) for frame in framing.feed(message) if isinstance(frame, InvalidFrame)]


def test_errors_are_as_neovim_shows_them() -> None:
    """Errors are pairs until maps are requested."""
    framing = detect(PING[0])
    assert isinstance(framing, ServerMessagePack)

    assert not framing.error_maps
