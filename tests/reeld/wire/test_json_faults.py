"""A JSON-RPC message that is not a request is refused alone, and the stream continues."""

import json

import pytest

from reel.base.errors import InvalidRequest, ParseError
from reel.wire.frames import InvalidFrame
from reeld.wire.json_framing import Lines
from tests.reeld.wire.frames import fed
from tests.reeld.wire.json_rpc import LAY, Json, both, taken

pytestmark = pytest.mark.slow


@both
@pytest.mark.parametrize(
    "message",
    [
        *(b"x", b"{", b'{"id":1', b'{"id":1,}', b"{'id':1}", b'{"id":1} x', b"{}{}", b'{"a":"\x00"}', b'{"a":"\t"}'),
        *(b'{"id":NaN}', b'{"params":[Infinity]}', b'{"params":[-Infinity]}', b"\xff", b"[", b"[1,]"),
    ],
    ids=lambda message: repr(message[:20]),
)
def test_bad_json_in_a_good_frame(make: Json, message: bytes) -> None:
    """A line that is not JSON is refused alone, and the stream continues."""
    error, text, fatal = taken(make, message)

    assert (ParseError, False) == (error, fatal)
    assert text.startswith("parse_error: not JSON")


@both
@pytest.mark.parametrize("message", [b"[" * 200_000, b'{"a":' * 200_000], ids=["lists", "maps"])
def test_json_nested_too_deep_in_a_good_frame(make: Json, message: bytes) -> None:
    """A message that is deeper than the parser allows is refused alone, and the stream continues."""
    error, text, fatal = taken(make, message)

    assert (ParseError, False) == (error, fatal)
    assert "parse_error: the message is nested too deep" == text


def test_json_over_several_lines() -> None:
    """A pretty-printed JSON message is refused, and the error says why."""
    (_, text, _), *_ = fed(Lines(), [json.dumps({"method": "x"}, indent=2).encode() + b"\n"])

    assert text.endswith("; each line is a message")


@both
@pytest.mark.parametrize("batch", ["[]", "[1]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'])
def test_a_batch(make: Json, batch: str) -> None:
    """A batch is refused as a whole, and the stream continues."""
    assert (
        InvalidRequest,
        "invalid_request: batches are not accepted; send each request by itself",
        False,
    ) == taken(make, batch.encode())


@both
@pytest.mark.parametrize(
    "message",
    [
        *("null", "1", '"ping"', "true", "{}", '{"id":1}', '{"method":1}', '{"id":1,"method":null}'),
        *('{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"jsonrpc":2.0,"method":"ping"}', '{"result":{}, "id":[]}'),
        *('{"id":1,"method":5,"result":{}}', '{"params":[]}', '{"id":true,"result":{}}'),
    ],
)
def test_a_message_that_is_no_request_in_json_rpc(make: Json, message: str) -> None:
    """A message that is not a request is refused alone, and the error shows an example."""
    error, text, fatal = taken(make, message.encode())

    assert (InvalidRequest, False) == (error, fatal)
    assert '"method"' in text


@both
@pytest.mark.parametrize("request_id", ["null", "true", "1.0", "[]", "{}", '"\\ud800"', '"\\u0000"'])
def test_an_id_that_cannot_be_given_back(make: Json, request_id: str) -> None:
    """An id is an integer or a clean string; with null, no error could be told from the reply."""
    error, text, fatal = taken(make, f'{{"id":{request_id},"method":"ping"}}'.encode())

    assert (InvalidRequest, False) == (error, fatal)
    assert text.startswith("invalid_request: id: expected an integer or a clean string")


@both
def test_quotes_without_end_are_counted_at_once(make: Json) -> None:
    """A string that is never closed is scanned once, however many quotes it has."""
    hostile = b"[" * 300 + b'"' + b'\\"' * 2_000_000

    (frame,) = make().feed(LAY[make](hostile))
    assert isinstance(frame, InvalidFrame)
    assert not frame.fatal
