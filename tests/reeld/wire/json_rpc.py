"""What the tests of both JSON-RPC framings send, and how they read it."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import strategies as st

from reel.wire.frames import Request
from reeld.wire.json_framing import ContentLength, Lines
from tests.reeld.wire.frames import fed

Json: TypeAlias = type[ContentLength] | type[Lines]
both = pytest.mark.parametrize("make", [ContentLength, Lines])
makes = st.sampled_from([ContentLength, Lines])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = st.integers() | texts.filter(lambda text: "\x00" not in text)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def lines(message: bytes) -> bytes:
    """Encode a message as a line."""
    return message + b"\n"


def headed(message: bytes) -> bytes:
    """Encode a message after its length."""
    return f"Content-Length: {len(message)}\r\n\r\n".encode() + message


LAY: dict[Any, Callable[[bytes], bytes]] = {ContentLength: headed, Lines: lines}


def taken(make: Json, message: bytes) -> Any:
    """Return the one frame of a message; another message behind it must arrive too."""
    ping = b'{"id":1,"method":"ping"}'
    frame, behind = fed(make(), [LAY[make](message) + LAY[make](ping)])
    assert behind == Request(1, "ping", None, len(ping))
    return frame


def body(make: Json, data: bytes) -> Any:
    """Read a sent message, and check the exact bytes around it."""
    if make is Lines:
        assert data.endswith(b"\n")
        assert 1 == data.count(b"\n")
        return json.loads(data)
    header, _, rest = data.partition(b"\r\n\r\n")
    assert header == f"Content-Length: {len(rest)}".encode()
    return json.loads(rest)
