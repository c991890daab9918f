"""What one end of a MessagePack connection sends, and the other end reads."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import InvalidParams, NotFound
from reel.base.values import is_clean
from reel.wire.frames import Notification, Request, Response
from reeld.wire.encoded import EncodedText, PackedList
from reeld.wire.json_framing import ContentLength, Lines
from reeld.wire.msgpack_framing import ServerMessagePack
from reeld.wire.shared_pushes import SharedPush
from tests.reeld.wire.messagepack import PING, ids, names, plain

pytestmark = pytest.mark.slow

small = st.none() | st.integers(0, 2**32) | names


@given(ids, names, plain)
def test_a_request_goes_from_end_to_end_in_msgpack(request_id: int, method: str, params: Any) -> None:
    """A request of one end is read by the other."""
    data = ServerMessagePack().request(request_id, method, params)

    assert [0, request_id, method, params] == msgpack.unpackb(data, strict_map_key=False)
    assert [Request(request_id, method, params, len(data))] == list(ServerMessagePack().feed(data))


@given(names, st.lists(plain))
def test_a_notification_goes_from_end_to_end_in_msgpack(method: str, params: list[Any]) -> None:
    """A notification of one end is read by the other."""
    data = ServerMessagePack().notify(method, params)

    assert [2, method, params] == msgpack.unpackb(data, strict_map_key=False)
    assert [Notification(method, params, len(data))] == list(ServerMessagePack().feed(data))


@given(names, st.dictionaries(names, plain))
def test_a_push_travels_in_a_list(method: str, params: dict[str, Any]) -> None:
    """Parameters by name are the only element of a list: Neovim closes the channel on anything else."""
    assert [2, method, [params]] == msgpack.unpackb(ServerMessagePack().notify(method, params), strict_map_key=False)


@given(ids, st.dictionaries(names, plain))
def test_an_answer_goes_from_end_to_end_in_msgpack(request_id: int, result: dict[str, Any]) -> None:
    """A reply of one end is read by the other."""
    data = ServerMessagePack().answer(request_id, result)

    assert [1, request_id, None, result] == msgpack.unpackb(data, strict_map_key=False)
    assert [Response(request_id, None, result)] == list(ServerMessagePack().feed(data))


@pytest.mark.parametrize(
    ("number", "came"),
    [(0xD800, "\udced\udca0\udc80"), (0xDCFF, "\udced\udcb3\udcbf"), (0xDFFF, "\udced\udcbf\udcbf")],
)
def test_lone_surrogates_are_sent(number: int, came: str) -> None:
    """A client may send lone surrogates: each arrives as three, one per byte."""
    framing, bad = ServerMessagePack(), chr(number)
    asked, told = framing.request(1, "x", {"a": f"é{bad}"}), framing.notify("x", [bad])

    assert framing.feed(asked) == [Request(1, "x", {"a": f"é{came}"}, len(asked))]
    assert framing.feed(told) == [Notification("x", [came], len(told))]


@pytest.mark.parametrize("framing", [ServerMessagePack(), ServerMessagePack(error_maps=True), Lines(), ContentLength()])
def test_what_the_daemon_sends_is_utf_8(framing: ServerMessagePack | Lines | ContentLength) -> None:
    """U+FFFD stands for each half of a character, wherever it is in a reply or in a push."""
    half = "a\ud83db"
    framing.push_target = [half]
    shared = SharedPush({half: [half]}, {half: msgpack.packb("é")})
    error = NotFound(half, agent=half)
    sent = [
        framing.answer(1, {half: [half]}),
        framing.answer(1, {half: PackedList([msgpack.packb("é")]), "x": half}),
        framing.refuse(1, error),
        framing.reply(half, {"a": half}),
        framing.reply(half, error),
        framing.notify("draft", {"text": half}),
        framing.push("event", 7, shared),
    ]

    for data in sent:
        (message,) = type(framing)().feed(data)
        assert "a\ufffdb" in str(message)
        assert is_clean(str(message))


@given(ids, st.dictionaries(names, st.tuples(st.booleans(), st.lists(small, max_size=20)), max_size=20))
def test_splicing_is_packing(request_id: int, values: dict[str, tuple[bool, list[Any]]]) -> None:
    """Packed lists make the same bytes as packing them again."""
    whole = {key: items for key, (_, items) in values.items()}
    spliced = {
        key: PackedList([msgpack.packb(item) for item in items]) if cut else items
        for key, (cut, items) in values.items()
    }

    assert msgpack.packb([1, request_id, None, whole]) == ServerMessagePack().answer(request_id, spliced)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_splicing_a_list_of_any_length(count: int) -> None:
    """Short, medium and long lists have different headers, and each is right."""
    expected = msgpack.packb([1, 300, None, {"head": 9, "messages": [7] * count, "more": False}])

    assert expected == ServerMessagePack().answer(
        300, {"head": 9, "messages": PackedList([b"\x07"] * count), "more": False}
    )


@pytest.mark.parametrize("framing", [ServerMessagePack(), Lines()])
def test_an_encoded_text_is_spliced(framing: ServerMessagePack | Lines) -> None:
    """It arrives as the text that it is, in an answer and in a later one."""
    text = EncodedText([b'{"a":', memoryview("é".encode()), b"}"])
    answer, reply = framing.feed(framing.answer(3, {"body": text}) + framing.reply(4, {"body": text}))

    assert Response(3, None, {"body": '{"a":é}'}) == answer
    assert '{"a":é}' in str(reply)
    assert 8 == len(text)


def test_encoded_texts_are_equal_if_they_are_the_same_text() -> None:
    """It does not matter in which parts they are."""
    text, same, other = EncodedText([b"ab"]), EncodedText([b"a", b"b"]), EncodedText([b"ac"])

    assert {text} == {same}
    assert text != other
    assert text != "ab"


@pytest.mark.parametrize(
    ("value", "error"), [(object(), TypeError), (2**64, InvalidParams), ({"a": [set()]}, TypeError)]
)
def test_what_cannot_be_sent_leaves_nothing_behind(value: Any, error: type[Exception]) -> None:
    """A value that cannot be packed raises an error in the caller, and does not affect the next message."""
    framing = ServerMessagePack()
    with pytest.raises(error):
        framing.request(1, "x", {"fine": 1, "bad": value})

    assert framing.request(1, "ping", []) == PING


def test_a_push_as_the_peer_wants_it_in_msgpack() -> None:
    """A peer may name the method for pushes and its first arguments; calls by position are unchanged."""
    framing = ServerMessagePack()
    framing.push_target = ["nvim_exec_lua", "_reel_push(...)"]
    expected = [2, "nvim_exec_lua", ["_reel_push(...)", ["event", {"sub": 1}]]]

    assert expected == msgpack.unpackb(framing.notify("event", {"sub": 1}))
    assert expected == msgpack.unpackb(framing.push("event", 1, SharedPush({}, {})))
    assert [2, "x", [1]] == msgpack.unpackb(framing.notify("x", [1]))


@pytest.mark.parametrize("wrapper", [[], ["f"], ["f", "a", "b"]])
@pytest.mark.parametrize("token", [7, "seven"])
def test_a_later_answer_in_msgpack(wrapper: list[str], token: int | str) -> None:
    """A reply to a call with a token arrives as a push that names it, wrapped like any other."""
    framing = ServerMessagePack()
    framing.push_target = wrapper
    result = {"head": 9, "messages": PackedList([b"\x07", b"\x08"])}
    said = {"token": token, "result": {"head": 9, "messages": [7, 8]}}
    expected = [2, wrapper[0], [*wrapper[1:], ["reply", said]]] if wrapper else [2, "reply", [said]]

    assert expected == msgpack.unpackb(framing.reply(token, result))


@given(ids, st.dictionaries(names, plain), st.lists(names, max_size=2))
def test_a_result_that_is_encoded_already_in_msgpack(number: int, result: dict[str, Any], target: list[str]) -> None:
    """A result may be MessagePack already, in an answer and in a later one."""
    framing = ServerMessagePack()
    framing.push_target = target
    packed = msgpack.packb(result)

    assert framing.answer(number, result) == framing.answer(number, packed)
    assert framing.reply(number, result) == framing.reply(number, packed)


@given(st.lists(st.text()))
def test_the_characters_of_an_encoded_text(words: list[str]) -> None:
    """They are counted without joining its parts."""
    assert len("".join(words)) == EncodedText([word.encode() for word in words]).characters
