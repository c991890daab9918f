"""The garbage collector and the decoder of MessagePack."""

import gc
from collections.abc import Iterator

import msgpack
import pytest

from reel.wire.frames import MAX_MESSAGE, Response
from reeld.wire.msgpack_framing import ServerMessagePack

REPLY = msgpack.packb([1, 5, None, {"messages": [{"content": [{"text": "hi"}]}] * 10_000}])


@pytest.fixture
def collections() -> Iterator[list[str]]:
    """Return a list of the collections from now on."""
    found: list[str] = []

    def note(phase: str, _: object) -> None:
        found.append(phase)

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_nothing_is_collected_while_a_long_reply_is_decoded(collections: list[str]) -> None:
    """Ten thousand messages are decoded without a look at what the program has beside them."""
    framing = ServerMessagePack(MAX_MESSAGE)
    gc.collect()
    collections.clear()
    frames = framing.feed(REPLY)
    found = len(collections)

    assert [Response] == [type(frame) for frame in frames]
    assert found <= 2  # the start and the end of one, right after it


@pytest.mark.parametrize("data", [REPLY, REPLY[:-1], b"\xc1" * (1 << 16)])
def test_the_collector_is_left_as_it_was(data: bytes) -> None:
    """A program that has switched the collector off, or not, finds it so after any bytes."""
    before = gc.isenabled()
    ServerMessagePack(MAX_MESSAGE).feed(data)
    assert before is gc.isenabled()

    gc.disable()
    try:
        ServerMessagePack(MAX_MESSAGE).feed(data)
        assert not gc.isenabled()
    finally:
        gc.enable()
