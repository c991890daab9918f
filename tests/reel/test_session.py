"""The wire without any I/O: bytes go in in pieces of any size, and the same frames come out.

Rules that these tests keep: what is expected is packed and read by msgpack itself, not by the session; every
stream is also fed one byte at a time; what is behind a fatal frame is fed as well, and nothing comes of it.
"""

import tracemalloc
from collections.abc import Iterable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.errors import (
    BY_NAME,
    InvalidParams,
    InvalidRequest,
    NotFound,
    ParseError,
    ReelError,
    TooLarge,
    as_map,
    from_wire,
)
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
from reel.session import MAX_ELEMENTS, MessagePack, detect

pytestmark = pytest.mark.slow

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
small = st.none() | st.integers(0, 2**32) | names
messages = (
    st.tuples(st.just(0), ids, names, plain)
    | st.tuples(st.just(1), ids | st.none(), plain, plain)
    | st.tuples(st.just(2), names, plain)
)
any_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud800\udfff"), max_size=40)
errors = st.sampled_from(sorted(BY_NAME)).map(lambda name: BY_NAME[name])


def fed(framing: MessagePack, pieces: Iterable[bytes]) -> list[Any]:
    """Feed every piece; return errors as their texts."""
    return [readable(frame) for piece in pieces for frame in framing.feed(piece)]


def readable(frame: Frame) -> Any:
    """Return a frame in a form that can be compared."""
    return (type(frame.error), str(frame.error), frame.fatal) if isinstance(frame, InvalidFrame) else frame


def sizes(framing: MessagePack, data: bytes) -> list[int]:
    """Return the memory cost of each request."""
    return [frame.size for frame in framing.feed(data) if isinstance(frame, Request)]


def one_by_one(data: bytes) -> list[bytes]:
    """Cut a stream into single bytes."""
    return [data[index : index + 1] for index in range(len(data))]


def fault(data: bytes, max_message: int = MAX_MESSAGE) -> InvalidFrame:
    """Return the one fatal frame of a stream."""
    (frame,) = MessagePack(max_message).feed(data)
    assert isinstance(frame, InvalidFrame)
    assert frame.fatal
    return frame


def mended(text: str) -> str:
    """Replace each character that a text may not contain."""
    return "".join("\ufffd" if ord(each) == 0 or 0xD800 <= ord(each) <= 0xDFFF else each for each in text)


def frame_of(message: Any) -> Frame:
    """Return the frame that a message should become."""
    size = len(msgpack.packb(message))
    match message:
        case (0, request_id, method, params):
            return Request(request_id, method, params, size)
        case (1, request_id, error, result):
            return Response(request_id, error, result)
    return Notification(message[1], message[2], size)


@given(st.lists(messages, max_size=6))
def test_what_was_sent_comes_in_in_msgpack(sent: list[Any]) -> None:
    """A stream of messages becomes their frames, in order, each with its length."""
    stream = b"".join(map(msgpack.packb, sent))

    assert [frame_of(message) for message in sent] == fed(MessagePack(), [stream])


@given(st.lists(messages, max_size=4))
def test_one_byte_at_a_time_in_msgpack(sent: list[Any]) -> None:
    """Bytes that arrive one at a time make the same frames as all at once."""
    stream = b"".join(map(msgpack.packb, sent))

    assert [frame_of(message) for message in sent] == fed(MessagePack(), one_by_one(stream))


@given(st.lists(messages.map(msgpack.packb) | st.binary(max_size=30), max_size=5), st.lists(st.integers(1, 50)))
def test_junk_reads_the_same_in_any_pieces_in_msgpack(parts: list[bytes], cuts: list[int]) -> None:
    """However a stream is cut, the frames are the same, and nothing is raised."""
    stream = rest = b"".join(parts)
    pieces = []
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]

    at_once = fed(MessagePack(), [stream])
    assert at_once == fed(MessagePack(), [*pieces, rest])
    assert at_once == fed(MessagePack(), one_by_one(stream))


@given(st.integers(0, 256), st.lists(st.integers(0, 400), max_size=5))
def test_the_limit_reads_the_same_in_any_pieces(limit: int, lengths: list[int]) -> None:
    """Whether a message is too long does not depend on how it came."""
    sent = [msgpack.packb([2, "x", "y" * length]) for length in lengths]
    good = [len(message) <= limit for message in sent]
    expected = good.index(False) if False in good else len(sent)

    for pieces in ([b"".join(sent)], sent, one_by_one(b"".join(sent))):
        frames = fed(MessagePack(limit), pieces)
        assert [Notification] * expected + [tuple] * (not all(good)) == [type(frame) for frame in frames]


@pytest.mark.parametrize("pieces", [[], [b""], [b"", b""], [PING[:-1]], one_by_one(PING[:-1]), [b"\xdd"]])
def test_a_truncated_frame_is_silent(pieces: list[bytes]) -> None:
    """Half a message makes no frame yet."""
    assert fed(MessagePack(), pieces) == []


def test_a_frame_over_two_pieces() -> None:
    """The end of one message and the beginning of the next may arrive together."""
    framing = MessagePack()

    assert fed(framing, [PING + PING[:3]]) == [PINGED]
    assert fed(framing, [PING[3:]]) == [PINGED]


@pytest.mark.parametrize("length", [60_000, 65_536, 200_000, 1_000_000])
def test_a_long_message_in_msgpack(length: int) -> None:
    """A message much longer than one read arrives whole, and so does the one behind it."""
    message = msgpack.packb([2, "x", "y" * length])

    assert fed(MessagePack(), [message + PING]) == [Notification("x", "y" * length, len(message)), PINGED]


@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
@pytest.mark.parametrize("length", [0, 100, 70_000])
def test_a_message_at_the_limit_in_msgpack(cut: Any, length: int) -> None:
    """The limit is inclusive; one more byte is too many."""
    message = msgpack.packb([2, "x", "y" * length])
    size = len(message)

    assert fed(MessagePack(size), cut(message)) == [Notification("x", "y" * length, size)]
    ((error, _, fatal),) = fed(MessagePack(size - 1), cut(message))
    assert (TooLarge, True) == (error, fatal)


def test_a_message_over_the_limit_says_the_limit() -> None:
    """The error for a message that is too long states the limit."""
    error = fault(msgpack.packb([2, "x", "y" * 100]), max_message=50).error

    assert isinstance(error, TooLarge)
    assert "50 bytes" in error.message
    assert error.data == {"limit": 50}


def test_a_message_over_the_limit_is_not_waited_for() -> None:
    """A message over the limit is refused before its end arrives; earlier messages count."""
    framing = MessagePack(100)
    endless = b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff" + b"y" * 100

    first, (error, _, fatal) = fed(framing, [PING + endless])
    assert first == PINGED
    assert (TooLarge, True) == (error, fatal)


def test_what_comes_is_had_at_once() -> None:
    """Feeding returns a list, so bytes are read even if nobody looks at the frames."""
    framing = MessagePack()

    assert framing.feed(PING + PING) == [PINGED, PINGED]
    assert framing.feed(b"") == []


def test_the_decoder_has_a_bound_of_its_own() -> None:
    """Even if the count of buffered bytes were wrong, the decoder would refuse to buffer more than its limit."""
    framing = MessagePack(50)
    framing._max = 1 << 30
    endless = b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff" + b"y" * 100_000

    first, (error, _, fatal) = fed(framing, [PING, endless, PING])
    assert first == PINGED
    assert (TooLarge, True) == (error, fatal)


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"\xdd\xff\xff\xff\xff" + b"\xc0" * 200,
        msgpack.packb([2, "x", "y" * 200]),
        b"\x93\x02\xa1x\xdb\x7f\xff\xff\xff" + b"y" * 200_000,
    ],
    ids=["junk", "a header", "a message", "an endless one"],
)
def test_nothing_comes_after_a_fatal_frame(data: bytes) -> None:
    """After a fatal frame nothing more is read, and the error comes once."""
    framing = MessagePack(100)
    (broken,) = framing.feed(data + PING)
    assert isinstance(broken, InvalidFrame)

    assert broken.fatal
    assert [framing.feed(piece) for piece in (PING, b"", data, PING * 20)] == [[], [], [], []]


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"\x94\x00\x01\xc1",
        b"\x93\x02\xa1x\x81\x90\x01",
        b"\x93\x02\xa1x\x81\x80\x01",
        b"\x93\x02\xa1x\xd4\xff\x01",
        b"\x91" * 100_000,
        b"\x81\x01" * 100_000,
    ],
    ids=lambda data: data[:12].hex(),
)
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one])
def test_the_place_is_lost(data: bytes, cut: Any) -> None:
    """Bytes that no decoder can recover from end the stream: earlier messages count, later ones are not read."""
    first, (error, text, fatal) = fed(MessagePack(), cut(PING + data + PING))

    assert first == PINGED
    assert (ParseError, True) == (error, fatal)
    assert text.startswith("parse_error: not MessagePack")


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537,
        b"\x94\x00\x01\xa1x\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537,
        b"\xdf\x00\x01\x00\x01" + b"\xc0\xc0" * 65_537,
    ],
    ids=lambda data: data[:10].hex(),
)
def test_too_many_elements(data: bytes) -> None:
    """An array or a map over the limit is refused; earlier messages count."""
    first, (error, text, fatal) = fed(MessagePack(), [PING + data + PING])

    assert first == PINGED
    assert (TooLarge, True) == (error, fatal)
    assert text.endswith("send it in parts")


def test_too_many_elements_says_the_limit() -> None:
    """The error for too many elements states the limit."""
    error = fault(b"\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537).error

    assert "65536" in error.message
    assert error.data == {"limit": MAX_ELEMENTS}
    assert MAX_ELEMENTS == 65_536


@pytest.mark.parametrize("header", [b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff" * 900, b"\xdc\xff\xff" + b"\x90" * 60_000])
def test_a_header_is_not_believed(header: bytes) -> None:
    """A promised length takes no memory; an incomplete message takes the memory of its bytes."""
    framing = MessagePack()
    piece = b"\x94\x00\x01\xa1x" + header
    tracemalloc.start()
    frames = framing.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert frames == []
    assert framing.held == len(piece)
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("params", "values"),
    [([], 5 + 1), ([[]] * 3, 5 + 4 + 3), ({"a": [], "b": {}}, 5 + 5 + 2)],
    ids=str,
)
def test_values_at_the_limit_in_msgpack(params: Any, values: int) -> None:
    """The limit of values is inclusive; one more is refused, and the error states the limit."""
    message = msgpack.packb([0, 1, "x", params])

    assert isinstance(MessagePack(MAX_MESSAGE, values).feed(message)[0], Request)
    (broken,) = MessagePack(MAX_MESSAGE, values - 1).feed(message)
    assert isinstance(broken, InvalidFrame)
    assert broken.fatal
    assert isinstance(broken.error, TooLarge)
    assert broken.error.data == {"limit": values - 1}


def test_many_values_weigh_more() -> None:
    """The memory of many values counts for their request; a client does not count it."""
    few, many = (msgpack.packb([0, 1, "x", [[]] * count]) for count in (10, 10_000))

    assert [len(few)] == sizes(MessagePack(MAX_MESSAGE, MAX_VALUES), few)
    assert [len(many)] == sizes(MessagePack(), many)
    assert [len(many) + 80 * 20_006] == sizes(MessagePack(MAX_MESSAGE, MAX_VALUES), many)


def test_what_is_held_in_msgpack() -> None:
    """A framing reports how many bytes of an incomplete message it keeps, and drops them after a fatal frame."""
    framing = MessagePack()

    assert framing.held == 0
    framing.feed(PING + PING[:-1])
    assert framing.held == len(PING) - 1
    framing.feed(PING[-1:])
    assert framing.held == 0
    framing.feed(PING[:-1])
    framing.feed(b"\xc1")
    assert framing.held == 0


def test_the_place_is_lost_early_in_a_long_piece() -> None:
    """Nothing behind a fatal frame is read, however much has arrived."""
    ((error, _, fatal),) = fed(MessagePack(), [b"\xc1" + PING * 50_000])

    assert (ParseError, True) == (error, fatal)


def test_a_large_array_that_comes() -> None:
    """Arrays may be large if their elements arrive."""
    message = msgpack.packb([2, "x", [None] * 65_536])

    assert fed(MessagePack(), [message]) == [Notification("x", [None] * 65_536, len(message))]


@pytest.mark.parametrize("levels", [17, 600, 1_000])
def test_a_message_that_is_deep(levels: int) -> None:
    """Deep values arrive, so that the one request can be refused and the stream continues."""
    first, second = fed(MessagePack(), [b"\x94\x00\x07\xa1x" + b"\x91" * levels + b"\xc0" + PING])
    value, found = first.params, 0
    while isinstance(value, list):
        (value,) = value
        found += 1

    assert (7, levels) == (first.id, found)
    assert second == PINGED


@pytest.mark.parametrize(
    "message",
    [
        *(None, True, 0, 1.5, "ping", b"ping", {}, {"method": "ping"}, {0: 1}),
        *([], [0], [0, 1], [0, 1, "ping"], [0, 1, "ping", [], None], [2], [2, "ping"], [2, "ping", [], None]),
        *([0, True, "ping", []], [0, False, "ping", []], [0, 1.0, "ping", []], [0, 2**63 * 1.0, "ping", []]),
        *([0, None, "ping", []], [0, "1", "ping", []], [0, 1.5, "ping", []], [0, [], "ping", []]),
        *([0, 1, None, []], [0, 1, 5, []], [0, 1, b"ping", []], [2, None, []], [2, b"ping", []]),
        *([1, "1", None, {}], [1, 1.5, None, {}], [1, 1, None], [3, 1, "ping", []], [-1, 1, "ping", []]),
        *(["0", 1, "ping", []], [None, 1, "ping", []], [[0, 1, "ping", []]], msgpack.ExtType(5, b"x")),
    ],
    ids=repr,
)
def test_a_message_that_is_no_request_in_msgpack(message: Any) -> None:
    """A message that is not a request is refused alone, and the stream continues."""
    (error, text, fatal), second = fed(MessagePack(), [msgpack.packb(message) + PING])

    assert (InvalidRequest, False) == (error, fatal)
    assert "[0, id, method, params]" in text
    assert second == PINGED


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff", "\udcff"),
        (b"a\x80b", "a\udc80b"),
        (b"\xc3", "\udcc3"),
        (b"\xed\xa0\x80", "\udced\udca0\udc80"),
        (b"\xf0\x9f\x98", "\udcf0\udc9f\udc98"),
        (b"\x00", "\x00"),
        ("\U0001f600".encode(), "\U0001f600"),
    ],
)
def test_bytes_that_are_no_utf8(data: bytes, expected: str) -> None:
    """Invalid UTF-8 arrives as lone surrogates, one per byte, to be cleaned or refused later."""
    text = bytes([0xA0 + len(data)]) + data
    message = b"\x93\x02" + text + b"\x82" + text + b"\x01\x01" + text

    assert fed(MessagePack(), [message]) == [Notification(expected, {expected: 1, 1: expected}, len(message))]


@pytest.mark.parametrize(
    "value", [{1: 2}, {None: 1}, {b"k": 1}, b"raw", msgpack.ExtType(5, b"x"), msgpack.Timestamp(1)]
)
def test_what_no_other_framing_has(value: Any) -> None:
    """Values that are not plain arrive, so that the one request can be refused by its field."""
    (frame,) = MessagePack().feed(msgpack.packb([0, 1, "x", value]))

    assert isinstance(frame, Request)
    assert value == frame.params


@given(ids, names, plain)
def test_a_request_goes_from_end_to_end_in_msgpack(request_id: int, method: str, params: Any) -> None:
    """A request of one end is read by the other."""
    data = MessagePack().request(request_id, method, params)

    assert [0, request_id, method, params] == msgpack.unpackb(data, strict_map_key=False)
    assert [Request(request_id, method, params, len(data))] == list(MessagePack().feed(data))


@given(names, st.lists(plain))
def test_a_notification_goes_from_end_to_end_in_msgpack(method: str, params: list[Any]) -> None:
    """A notification of one end is read by the other."""
    data = MessagePack().notify(method, params)

    assert [2, method, params] == msgpack.unpackb(data, strict_map_key=False)
    assert [Notification(method, params, len(data))] == list(MessagePack().feed(data))


@given(names, st.dictionaries(names, plain))
def test_a_push_travels_in_a_list(method: str, params: dict[str, Any]) -> None:
    """Parameters by name are the only element of a list: Neovim closes the channel on anything else."""
    assert [2, method, [params]] == msgpack.unpackb(MessagePack().notify(method, params), strict_map_key=False)


@given(ids, st.dictionaries(names, plain))
def test_an_answer_goes_from_end_to_end_in_msgpack(request_id: int, result: dict[str, Any]) -> None:
    """A reply of one end is read by the other."""
    data = MessagePack().answer(request_id, result)

    assert [1, request_id, None, result] == msgpack.unpackb(data, strict_map_key=False)
    assert [Response(request_id, None, result)] == list(MessagePack().feed(data))


@pytest.mark.parametrize(
    ("number", "came"),
    [(0xD800, "\udced\udca0\udc80"), (0xDCFF, "\udced\udcb3\udcbf"), (0xDFFF, "\udced\udcbf\udcbf")],
)
def test_lone_surrogates_are_sent(number: int, came: str) -> None:
    """A client may send lone surrogates: each arrives as three, one per byte."""
    framing, bad = MessagePack(), chr(number)
    asked, told = framing.request(1, "x", {"a": f"é{bad}"}), framing.notify("x", [bad])

    assert framing.feed(asked) == [Request(1, "x", {"a": f"é{came}"}, len(asked))]
    assert framing.feed(told) == [Notification("x", [came], len(told))]


@given(ids | st.none(), errors, any_text, st.booleans())
def test_an_error_goes_from_end_to_end_in_msgpack(
    request_id: int | None, error: type[ReelError], text: str, error_maps: bool
) -> None:
    """An error of one end is raised at the other, in either shape, with a clean text."""
    (answer,) = MessagePack().feed(MessagePack(error_maps=error_maps).refuse(request_id, error(text)))
    assert isinstance(answer, Response)
    raised = from_wire(answer.error)

    assert (request_id, None) == (answer.id, answer.result)
    assert (error, mended(text)) == (type(raised), raised.message)


@given(ids, st.dictionaries(names, st.tuples(st.booleans(), st.lists(small, max_size=20)), max_size=20))
def test_splicing_is_packing(request_id: int, values: dict[str, tuple[bool, list[Any]]]) -> None:
    """Packed lists make the same bytes as packing them again."""
    whole = {key: items for key, (_, items) in values.items()}
    spliced = {
        key: PackedList([msgpack.packb(item) for item in items]) if cut else items
        for key, (cut, items) in values.items()
    }

    assert msgpack.packb([1, request_id, None, whole]) == MessagePack().answer(request_id, spliced)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_splicing_a_list_of_any_length(count: int) -> None:
    """Short, medium and long lists have different headers, and each is right."""
    expected = msgpack.packb([1, 300, None, {"head": 9, "messages": [7] * count, "more": False}])

    assert expected == MessagePack().answer(300, {"head": 9, "messages": PackedList([b"\x07"] * count), "more": False})


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotFound("no agent zed", agent="zed"), [0, "not_found: no agent zed"]),
        (InvalidParams("agent is missing"), [1, "invalid_params: agent is missing"]),
        (InvalidRequest("a batch"), [0, "invalid_request: a batch"]),
    ],
)
@pytest.mark.parametrize("request_id", [0, 7, 2**32 - 1, None])
def test_an_error_as_neovim_shows_it(request_id: int | None, error: ReelError, expected: list[Any]) -> None:
    """By default an error is a pair of a number and a text; only wrong parameters have the number 1."""
    assert [1, request_id, expected, None] == msgpack.unpackb(MessagePack().refuse(request_id, error))


@pytest.mark.parametrize("error", sorted(BY_NAME))
def test_only_wrong_parameters_are_marked(error: str) -> None:
    """Exactly one error has the number 1."""
    (number, text) = msgpack.unpackb(MessagePack().refuse(1, BY_NAME[error]("x")))[2]

    assert (int(error == "invalid_params"), f"{error}: x") == (number, text)


def test_an_error_as_a_map() -> None:
    """If maps were requested, an error has its code, its name and its data."""
    framing = MessagePack()
    framing.error_maps = True
    expected = {
        "code": -32004,
        "name": "not_found",
        "message": "not_found: no agent zed",
        "data": {"name": "not_found", "agent": "zed"},
    }

    assert [1, 7, expected, None] == msgpack.unpackb(framing.refuse(7, NotFound("no agent zed", agent="zed")))


def test_maps_can_be_asked_for_from_the_start() -> None:
    """A framing can be told to send maps."""
    error = InvalidParams("agent is missing", field="agent")

    assert [1, 7, as_map(error), None] == msgpack.unpackb(MessagePack(error_maps=True).refuse(7, error))


@pytest.mark.parametrize(
    ("error_maps", "expected"),
    [
        (False, [0, "not_found: no agent a\ufffd\ufffd"]),
        (
            True,
            {
                "code": -32004,
                "name": "not_found",
                "message": "not_found: no agent a\ufffd\ufffd",
                "data": {"name": "not_found", "agent": "a\ufffd\ufffd", "seen": [{"\ufffd": "\ufffd"}]},
            },
        ),
    ],
)
def test_what_an_error_quotes_is_mended_in_msgpack(error_maps: bool, expected: Any) -> None:
    """An error may quote invalid text; any client can read what is sent, and the error itself is unchanged."""
    error = NotFound("no agent a\ud800\x00", agent="a\ud800\x00", seen=[{"\udcff": "\x00"}])

    assert [1, 7, expected, None] == msgpack.unpackb(MessagePack(error_maps=error_maps).refuse(7, error))
    assert error.data["agent"] == "a\ud800\x00"


def test_a_refusal_of_what_could_not_be_read() -> None:
    """An error without a request is a reply without an id."""
    data = MessagePack().refuse(None, ParseError("not MessagePack"))

    assert MessagePack().feed(data) == [Response(None, [0, "parse_error: not MessagePack"], None)]


@pytest.mark.parametrize(
    ("value", "error"), [(object(), TypeError), (2**64, InvalidParams), ({"a": [set()]}, TypeError)]
)
def test_what_cannot_be_sent_leaves_nothing_behind(value: Any, error: type[Exception]) -> None:
    """A value that cannot be packed raises an error in the caller, and does not affect the next message."""
    framing = MessagePack()
    with pytest.raises(error):
        framing.request(1, "x", {"fine": 1, "bad": value})

    assert framing.request(1, "ping", []) == PING


def test_both_directions_are_apart() -> None:
    """Sending during an incoming message affects neither."""
    framing = MessagePack()

    assert fed(framing, [PING[:3]]) == []
    assert framing.request(1, "ping", []) == PING
    assert fed(framing, [PING[3:]]) == [PINGED]


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
    assert isinstance(framing, MessagePack)

    assert not framing.error_maps


def test_the_end_of_the_stream_says_nothing() -> None:
    """A message that is cut off at the end is dropped."""
    framing = MessagePack()

    assert framing.feed(PING[:3]) + framing.end() == []


def test_a_push_as_the_peer_wants_it_in_msgpack() -> None:
    """A peer may name the method for pushes and its first arguments; calls by position are unchanged."""
    framing = MessagePack()
    framing.push_target = ["nvim_exec_lua", "_reel_push(...)"]
    expected = [2, "nvim_exec_lua", ["_reel_push(...)", ["event", {"sub": 1}]]]

    assert expected == msgpack.unpackb(framing.notify("event", {"sub": 1}))
    assert expected == msgpack.unpackb(framing.push("event", 1, SharedPush({}, {})))
    assert [2, "x", [1]] == msgpack.unpackb(framing.notify("x", [1]))


@pytest.mark.parametrize("wrapper", [[], ["f"], ["f", "a", "b"]])
@pytest.mark.parametrize("token", [7, "seven"])
def test_a_later_answer_in_msgpack(wrapper: list[str], token: int | str) -> None:
    """A reply to a call with a token arrives as a push that names it, wrapped like any other."""
    framing = MessagePack()
    framing.push_target = wrapper
    result = {"head": 9, "messages": PackedList([b"\x07", b"\x08"])}
    said = {"token": token, "result": {"head": 9, "messages": [7, 8]}}
    expected = [2, wrapper[0], [*wrapper[1:], ["reply", said]]] if wrapper else [2, "reply", [said]]

    assert expected == msgpack.unpackb(framing.reply(token, result))


def test_a_later_error_in_msgpack() -> None:
    """A later error always arrives as a map with a clean text."""
    error = NotFound("no agent z\ud800", agent="z\ud800")
    expected = {**as_map(NotFound("no agent z\ufffd", agent="z\ufffd"))}

    assert [2, "reply", [{"token": 7, "error": expected}]] == msgpack.unpackb(MessagePack().reply(7, error))


def test_the_daemons_limit_is_the_protocols_in_msgpack() -> None:
    """A message may have 16 MiB by default."""
    assert MAX_MESSAGE == 16 * 1024 * 1024
