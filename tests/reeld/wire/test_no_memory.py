"""A message for which there is not enough memory ends its stream with an error that says so."""

from collections.abc import Callable

import msgpack
import pytest

from reel.base.errors import Busy
from reel.wire import msgpack_reader
from reel.wire.frames import InvalidFrame
from reeld.wire import json_framing
from reeld.wire.framing import Framing
from reeld.wire.json_framing import ContentLength, Lines
from reeld.wire.msgpack_framing import ServerMessagePack


def fail(*_: object, **__: object) -> None:
    """Do what a decoder does for which there is not enough memory."""
    raise MemoryError


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (ServerMessagePack, msgpack.packb([0, 1, "ping", []]) * 9000),
        (Lines, b'{"id":1,"method":"ping"}\n'),
        (ContentLength, b'Content-Length: 24\r\n\r\n{"id":1,"method":"ping"}'),
    ],
)
def test_a_message_that_cannot_be_read(
    make: Callable[[], Framing], data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame is fatal, and nothing is kept of the message, because nobody knows where it ends."""
    monkeypatch.setattr(json_framing, "parse", fail)
    monkeypatch.setattr(msgpack_reader, "Unpacker", fail)
    framing = make()
    *_, frame = framing.feed(data)

    assert isinstance(frame, InvalidFrame)
    assert (True, Busy, 0) == (frame.fatal, type(frame.error), framing.held)
