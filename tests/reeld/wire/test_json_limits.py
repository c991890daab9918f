"""The limits of a JSON-RPC message, in bytes and in values."""

import json

import pytest

from reel.base.errors import TooLarge
from reel.wire.frames import MAX_MESSAGE, InvalidFrame, Request
from reeld.wire.json_framing import ContentLength, Lines
from reeld.wire.sizes import MAX_VALUES
from tests.reeld.wire.json_rpc import LAY, Json, both

pytestmark = pytest.mark.slow


def test_the_daemons_limit_is_the_protocols_in_json_rpc() -> None:
    """A message may have 16 MiB by default."""
    assert {MAX_MESSAGE} == {ContentLength()._max, Lines()._max}
    assert {MAX_VALUES} == {ContentLength()._max_values, Lines()._max_values}


@both
def test_values_at_the_limit_in_json_rpc(make: Json) -> None:
    """The limit of values is inclusive, one more ends the stream, and brackets in strings do not count."""
    message = json.dumps({"id": 1, "method": "x,[{:" * 100 + '"\\', "params": [{}] * 300}).encode()
    values = 1 + 3 + 2 + 1 + 299 + 300

    (frame,) = make(MAX_MESSAGE, values).feed(LAY[make](message))
    assert isinstance(frame, Request)
    assert frame.size == len(message) + 80 * values
    (broken,) = make(MAX_MESSAGE, values - 1).feed(LAY[make](message) * 2)
    assert isinstance(broken, InvalidFrame)
    assert broken.fatal
    assert isinstance(broken.error, TooLarge)
    assert {"limit": values - 1} == broken.error.data
