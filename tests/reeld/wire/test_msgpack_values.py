"""Values that are kept as MessagePack."""

from typing import Any

import pytest

from reel.wire.frames import LARGE
from reel.wire.msgpack_codec import packer, unpack_all


@pytest.mark.parametrize("values", [[], [1], [{"a": [None, "ü"]}, "b"] * 20_000, ["x" * LARGE, {"a": 1}]])
def test_values_that_are_decoded_together_are_as_they_were(values: list[Any]) -> None:
    """Few or many, small or large."""
    pack = packer()

    assert values == unpack_all([pack(value) for value in values])
