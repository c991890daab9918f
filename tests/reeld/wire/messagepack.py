"""What the tests of MessagePack-RPC send."""

import msgpack
from hypothesis import strategies as st

from reel.wire.frames import Request

PING = msgpack.packb([0, 1, "ping", []])
PINGED = Request(1, "ping", [], len(PING))

names = st.text(max_size=20)
ids = st.integers(0, 2**32 - 1)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=10,
)
