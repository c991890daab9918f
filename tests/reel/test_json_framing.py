"""JSON-RPC without any I/O: bytes go in in pieces of any size, and the same frames come out.

Rules that these tests keep: what is expected is written and read by json itself, not by the framing; every stream
is also fed one byte at a time.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.errors import BY_NAME, InvalidRequest, NotFound, ParseError, ReelError, TooLarge, as_map, from_wire
from reel.frames import (
    MAX_MESSAGE,
    MAX_VALUES,
    Frame,
    InvalidFrame,
    Notification,
    PackedList,
    Request,
    Response,
    SharedPush,
)
from reel.json_framing import ContentLength, Lines
from reel.values import Numeral

pytestmark = pytest.mark.slow

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
calls = st.fixed_dictionaries(
    {"method": texts}, optional={"jsonrpc": st.just("2.0"), "id": ids, "params": plain, "more": plain}
)
answers = st.fixed_dictionaries({"id": ids | st.none()}, optional={"result": plain, "error": plain}).filter(
    lambda message: len(message) > 1
)
pieces_of_junk = (
    st.binary(max_size=30)
    | calls.map(json.dumps).map(str.encode)
    | st.sampled_from([b"Content-Length: 2\r\n\r\n{}", b"content-length:3\n\n", b"\n", b"\r\n", b"[]", b'"\xff"', b"{"])
)


def lines(message: bytes) -> bytes:
    """Encode a message as a line."""
    return message + b"\n"


def headed(message: bytes) -> bytes:
    """Encode a message after its length."""
    return f"Content-Length: {len(message)}\r\n\r\n".encode() + message


LAY: dict[Any, Callable[[bytes], bytes]] = {ContentLength: headed, Lines: lines}


def fed(framing: ContentLength | Lines, pieces: list[bytes]) -> list[Any]:
    """Feed every piece; return errors as their texts."""
    return [readable(frame) for piece in pieces for frame in framing.feed(piece)]


def readable(frame: Frame) -> Any:
    """Return a frame in a form that can be compared."""
    return (type(frame.error), str(frame.error), frame.fatal) if isinstance(frame, InvalidFrame) else frame


def one_by_one(data: bytes) -> list[bytes]:
    """Cut a stream into single bytes."""
    return [data[index : index + 1] for index in range(len(data))]


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
        assert data.count(b"\n") == 1
        return json.loads(data)
    header, _, rest = data.partition(b"\r\n\r\n")
    assert header == f"Content-Length: {len(rest)}".encode()
    return json.loads(rest)


def frame_of(message: dict[str, Any], size: int) -> Frame:
    """Return the frame that a message should become."""
    if "method" not in message:
        return Response(message["id"], message.get("error"), message.get("result"))
    if "id" in message:
        return Request(message["id"], message["method"], message.get("params"), size)
    return Notification(message["method"], message.get("params"), size)


@given(makes, st.lists(calls | answers, max_size=5), st.booleans())
def test_what_was_sent_comes_in_in_json_rpc(make: Json, sent: list[dict[str, Any]], ascii_only: bool) -> None:
    """A stream of messages becomes their frames, in order, each with its length."""
    bodies = [json.dumps(message, ensure_ascii=ascii_only).encode() for message in sent]
    stream = b"".join(map(LAY[make], bodies))
    expected = [frame_of(message, len(each)) for message, each in zip(sent, bodies, strict=True)]

    assert expected == fed(make(), [stream])
    assert expected == fed(make(), one_by_one(stream))


@given(makes, st.integers(0, 200), st.lists(pieces_of_junk, max_size=8), st.lists(st.integers(1, 50), max_size=8))
def test_junk_reads_the_same_in_any_pieces_in_json_rpc(
    make: Json, limit: int, parts: list[bytes], cuts: list[int]
) -> None:
    """However a stream is cut, the frames are the same, and nothing is raised, not even by its end."""
    stream = rest = b"".join(parts)
    pieces = []
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]

    found = []
    for cutting in ([stream], [*pieces, rest], one_by_one(stream)):
        framing = make(limit)
        found.append([*fed(framing, cutting), *map(readable, framing.end())])
    assert found[0] == found[1] == found[2]


@both
@pytest.mark.parametrize("length", [60_000, 65_536, 1_000_000])
def test_a_long_message_in_json_rpc(make: Json, length: int) -> None:
    """A message much longer than one read arrives whole."""
    message = json.dumps({"method": "x", "params": ["y" * length]}).encode()
    data = LAY[make](message)
    framing = make()
    (frame,) = (frame for start in range(0, len(data), 1000) for frame in framing.feed(data[start : start + 1000]))

    assert isinstance(frame, Notification)
    assert frame.params == ["y" * length]


# --- values


@both
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'"\xff"', "\udcff"),
        (b'"a\x80b"', "a\udc80b"),
        (b'"\xed\xa0\x80"', "\udced\udca0\udc80"),
        (b'"\\ud800"', "\ud800"),
        (b'"\\u0000"', "\x00"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"\U0001f600\u2028"'.encode(), "\U0001f600\u2028"),
        (b"9007199254740993", 2**53 + 1),
        (b"1e999", Numeral("1e999")),
        (b"9" * 5000, Numeral("9" * 5000)),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"[" * 500 + b"]" * 500, None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_value_that_comes_in(make: Json, text: bytes, expected: Any) -> None:
    """Values that are not plain, too large or too deep arrive, so that one parameter can be cleaned or refused."""
    frame = taken(make, b'{"id":7,"method":"x","params":' + text + b"}")

    assert frame.id == 7
    assert expected is None or expected == frame.params


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
    assert text == "parse_error: the message is nested too deep"


def test_json_over_several_lines() -> None:
    """A pretty-printed JSON message is refused, and the error says why."""
    (_, text, _), *_ = fed(Lines(), [json.dumps({"method": "x"}, indent=2).encode() + b"\n"])

    assert text.endswith("; each line is a message")


@both
@pytest.mark.parametrize("batch", ["[]", "[1]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'])
def test_a_batch(make: Json, batch: str) -> None:
    """A batch is refused as a whole, and the stream continues."""
    assert taken(make, batch.encode()) == (
        InvalidRequest,
        "invalid_request: batches are not accepted; send each request by itself",
        False,
    )


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


# --- lines


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \n", b"\t\r\n \n\n"])
def test_blank_lines_count_for_nothing(blank: bytes) -> None:
    """Blank lines are ignored, and spaces around a message are allowed."""
    message = b' {"method": "x"} \r\n'
    expected = [Notification("x", None, len(message) - 1)] * 2

    assert expected == fed(Lines(), [blank + message + blank + message + blank])


@pytest.mark.parametrize("end", [b"", b" ", b"\r"])
def test_a_last_line_without_its_end_in_json_rpc(end: bytes) -> None:
    """The end of the stream ends the last line; nothing is left after it, or after blanks."""
    framing = Lines()
    assert framing.feed(b'{"method":"x"}' + end) == []

    assert [Notification("x", None, 14 + len(end))] == framing.end()
    assert framing.end() == []


def test_a_last_line_that_is_cut_off() -> None:
    """A line that is cut off is not JSON."""
    framing = Lines()
    framing.feed(b'{"method":')

    ((error, _, fatal),) = map(readable, framing.end())
    assert (ParseError, False) == (error, fatal)


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_of_a_line(over: int, end: bytes) -> None:
    """A line may be as long as the limit, without its newline; a longer one ends the stream at once."""
    message = b'{"method":"x"}'
    framing = Lines(len(message) - over)
    frames = fed(framing, [message + end]) + list(map(readable, framing.end()))

    if over:
        assert [(TooLarge, "too_large: a message may have 13 bytes; send it in parts", True)] == frames
        assert framing.feed(message + b"\n") == []
    else:
        assert [Notification("x", None, 14)] == frames


# --- headers


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 14\r\n\r\n",
        b"content-length:14\r\n\r\n",
        b"CONTENT-LENGTH \t:  014 \t\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 14\r\n\r\n",
        b"Content-Length: 14\r\nX-Content-Length: 7\r\nanything\r\n\r\n",
        b"Content-Length: 14\n\n",
    ],
)
def test_a_header_that_is_accepted(header: bytes) -> None:
    """Headers accept any case, spaces, other headers, and plain newlines."""
    stream = (header + b'{"method":"x"}') * 2

    assert [Notification("x", None, 14)] * 2 == fed(ContentLength(), [stream])
    assert [Notification("x", None, 14)] * 2 == fed(ContentLength(), one_by_one(stream))


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1.5\r\n\r\n",
        b"Content-Length: 1 4\r\n\r\n",
        b"Content-Length: \xd9\xa1\r\n\r\n",
        b"Content-Length: 14\r\nContent-Length: 14\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"C" * 5000,
        b"C: x\r\n" * 800 + b"Content-Length: 14\r\n\r\n",
    ],
    ids=lambda header: repr(header[:40]),
)
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
def test_a_header_that_loses_the_stream(header: bytes, cut: Callable[[bytes], list[bytes]]) -> None:
    """If the next message cannot be found, the error says what was expected, and nothing more is read."""
    framing = ContentLength()
    good = headed(b'{"method":"x"}')

    first, (error, text, fatal) = fed(framing, cut(good + header + good))
    assert first == Notification("x", None, 14)
    assert (ParseError, True) == (error, fatal)
    assert text.startswith("parse_error: a message begins with Content-Length: N")
    assert (framing.feed(good), framing.end()) == ([], [])


@pytest.mark.parametrize("length", [101, 10**15 - 1])
def test_a_length_over_the_limit(length: int) -> None:
    """A message over the limit is refused before it arrives."""
    ((error, text, fatal),) = fed(ContentLength(100), [f"Content-Length: {length}\r\n\r\n".encode()])

    expected = f"too_large: a message may have 100 bytes, this one has {length}; send it in parts"
    assert (TooLarge, expected, True) == (error, text, fatal)


def test_a_length_at_the_limit() -> None:
    """A message may be as long as the limit."""
    (frame,) = ContentLength(100).feed(headed(b'{"method":"x"}'.ljust(100)))

    assert frame == Notification("x", None, 100)


def test_an_empty_message() -> None:
    """An empty message in a good frame is not JSON."""
    error, _, fatal = taken(ContentLength, b"")

    assert (ParseError, False) == (error, fatal)


@pytest.mark.parametrize("rest", [b"C", b"Content-Length: 14\r\n\r\n", b'Content-Length: 14\r\n\r\n{"method":"x"'])
def test_the_stream_ends_inside_a_message(rest: bytes) -> None:
    """A peer that announced too many bytes and closed its end gets an error."""
    framing = ContentLength()
    assert framing.feed(rest) == []

    assert [(ParseError, "parse_error: the stream ended inside a message", True)] == list(map(readable, framing.end()))
    assert framing.end() == []


@both
def test_the_stream_ends_between_messages(make: Json) -> None:
    """The end of a stream between two messages is not an error."""
    framing = make()
    framing.feed(LAY[make](b'{"method":"x"}'))

    assert framing.end() == []


# --- encoding


@given(makes, ids, texts, plain)
def test_a_request_goes_from_end_to_end_in_json_rpc(
    make: Json, request_id: int | str, method: str, params: Any
) -> None:
    """A request of one end is read by the other."""
    data = make().request(request_id, method, params)
    (frame,) = make().feed(data)

    assert {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params} == body(make, data)
    assert isinstance(frame, Request)
    assert (request_id, method, params) == frame[:3]


@given(makes, texts, st.lists(plain) | st.dictionaries(texts, plain))
def test_a_notification_goes_from_end_to_end_in_json_rpc(make: Json, method: str, params: Any) -> None:
    """A notification of one end is read by the other; a push is an object."""
    data = make().notify(method, params)
    (frame,) = make().feed(data)

    assert {"jsonrpc": "2.0", "method": method, "params": params} == body(make, data)
    assert isinstance(frame, Notification)
    assert (method, params) == frame[:2]


@given(makes, ids, st.dictionaries(texts, plain | st.tuples(st.lists(plain))))
def test_an_answer_goes_from_end_to_end_in_json_rpc(make: Json, request_id: int | str, result: dict[str, Any]) -> None:
    """A result is encoded as it is; lists kept as MessagePack are decoded."""
    kept = {
        key: PackedList([msgpack.packb(item) for item in value[0]]) if isinstance(value, tuple) else value
        for key, value in result.items()
    }
    expected = {key: value[0] if isinstance(value, tuple) else value for key, value in result.items()}
    data = make().answer(request_id, kept)

    assert {"jsonrpc": "2.0", "id": request_id, "result": expected} == body(make, data)
    assert [Response(request_id, None, expected)] == make().feed(data)


@given(makes, ids | st.none(), st.sampled_from(sorted(BY_NAME)), texts)
def test_an_error_goes_from_end_to_end_in_json_rpc(
    make: Json, request_id: int | str | None, name: str, text: str
) -> None:
    """An error has JSON-RPC's three members; its name is in its data."""
    clean = text.replace("\x00", "\ufffd")
    error = BY_NAME[name](text, field="agent")
    data = make().refuse(request_id, error)
    shown = {"code": error.code, "message": f"{name}: {clean}", "data": {"field": "agent", "name": name}}

    assert {"jsonrpc": "2.0", "id": request_id, "error": shown} == body(make, data)
    assert [Response(request_id, shown, None)] == make().feed(data)
    assert (type(error), clean) == (type(from_wire(shown)), from_wire(shown).message)


@both
def test_what_an_error_quotes_is_mended_in_json_rpc(make: Json) -> None:
    """An error may quote invalid text; any client can read what is sent."""
    error = NotFound("no agent a\ud800", agent="a\udcff")

    assert {
        "code": -32004,
        "message": "not_found: no agent a\ufffd",
        "data": {"name": "not_found", "agent": "a\ufffd"},
    } == body(make, make().refuse(1, error))["error"]


@both
def test_text_goes_out_as_it_is(make: Json) -> None:
    """Text is UTF-8 without escapes, in as few bytes as possible."""
    assert '{"jsonrpc":"2.0","method":"x","params":["é\U0001f600"]}'.encode() in make().notify("x", ["é\U0001f600"])


@both
@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"raw"])
def test_what_is_no_json_is_not_sent(make: Json, value: Any) -> None:
    """NaN, infinities and bytes raise an error in the caller, and never reach the peer."""
    with pytest.raises((ValueError, TypeError)):
        make().answer(1, {"bad": value})


@both
def test_a_push_as_the_peer_wants_it_in_json_rpc(make: Json) -> None:
    """A peer may name the method for pushes and its first arguments; calls by position are unchanged."""
    framing = make()
    framing.push_target = ["push", "a"]

    assert body(make, framing.notify("event", {"sub": 1})) == {
        "jsonrpc": "2.0",
        "method": "push",
        "params": ["a", ["event", {"sub": 1}]],
    }
    assert body(make, framing.notify("x", [1]))["params"] == [1]


@both
@pytest.mark.parametrize("wrapper", [[], ["f"], ["f", "a", "b"]])
def test_a_push_that_many_are_told(make: Json, wrapper: list[str]) -> None:
    """A push to several subscriptions is encoded once, with the number of each."""
    message = {"role": "user", "content": [{"type": "text", "text": "é"}]}
    shared = SharedPush({"agent": "a", "seq": 3}, {"message": msgpack.packb(message)})
    for sub in (1, 2**40):
        framing = make()
        framing.push_target = wrapper
        said = body(make, framing.push("event", sub, shared))
        params = {"sub": sub, "agent": "a", "seq": 3, "message": message}

        assert said == {
            "jsonrpc": "2.0",
            "method": wrapper[0] if wrapper else "event",
            "params": [*wrapper[1:], ["event", params]] if wrapper else params,
        }
    assert len(shared.encodings) == 1


@both
@pytest.mark.parametrize("wrapper", [[], ["push"]])
def test_a_later_answer_in_json_rpc(make: Json, wrapper: list[str]) -> None:
    """A reply to a call with a token arrives as a push that names it; its error is the same map in every framing."""
    framing = make()
    framing.push_target = wrapper
    outcomes: list[tuple[dict[str, Any] | ReelError, dict[str, Any]]] = [
        ({"items": PackedList([b"\x07"])}, {"token": 7, "result": {"items": [7]}}),
        (NotFound("no agent"), {"token": 7, "error": as_map(NotFound("no agent"))}),
    ]

    for outcome, expected in outcomes:
        said = body(make, framing.reply(7, outcome))["params"]
        assert said == ([["reply", expected]] if wrapper else expected)


def test_the_daemons_limit_is_the_protocols_in_json_rpc() -> None:
    """A message may have 16 MiB by default."""
    assert {ContentLength()._max, Lines()._max} == {MAX_MESSAGE}
    assert {ContentLength()._max_values, Lines()._max_values} == {MAX_VALUES}


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
    assert broken.error.data == {"limit": values - 1}


@both
def test_quotes_without_end_are_counted_at_once(make: Json) -> None:
    """A string that is never closed is scanned once, however many quotes it has."""
    hostile = b"[" * 300 + b'"' + b'\\"' * 2_000_000

    (frame,) = make().feed(LAY[make](hostile))
    assert isinstance(frame, InvalidFrame)
    assert not frame.fatal


@both
def test_what_is_held_in_json_rpc(make: Json) -> None:
    """A framing reports how many bytes of an incomplete message it keeps."""
    framing = make()
    message = LAY[make](b'{"id":1,"method":"ping"}')

    assert framing.held == 0
    framing.feed(message + message[:-1])
    assert len(b'{"id":1,"method":"ping"') <= framing.held <= len(message)
    framing.feed(message[-1:])
    assert framing.held == 0
