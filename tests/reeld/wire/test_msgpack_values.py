"""Values that are kept as MessagePack."""

from typing import Any

import msgpack
import pytest

from reel.wire.frames import LARGE
from reel.wire.msgpack_codec import packed, packer, unpack_all


@pytest.mark.parametrize("values", [[], [1], [{"a": [None, "ü"]}, "b"] * 20_000, ["x" * LARGE, {"a": 1}]])
def test_values_that_are_decoded_together_are_as_they_were(values: list[Any]) -> None:
    """Few or many, small or large."""
    pack = packer()

    assert values == unpack_all([pack(value) for value in values])


@pytest.mark.parametrize("value", ["\ud800", {"é": ["a", {"b\udfff": 1}]}, ["x" * LARGE, "\udc00"]])
def test_lone_surrogates_are_packed_if_that_is_asked_for(value: Any) -> None:
    """What comes next is encoded as ever."""
    pack = packer()

    assert msgpack.packb(value, unicode_errors="surrogatepass") == packed(value)
    assert msgpack.packb(["é"]) == packed(["é"])
    with pytest.raises(UnicodeEncodeError):
        pack(value)
    assert msgpack.packb(["é"]) == pack(["é"])
