"""What one end of a JSON-RPC connection sends, and the other end reads."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import BY_NAME, NotFound, ReelError, as_map, from_wire
from reel.wire.frames import Notification, Request, Response
from reeld.wire.encoded import PackedList
from reeld.wire.shared_pushes import SharedPush
from tests.reeld.wire.json_rpc import Json, body, both, ids, makes, plain, texts

pytestmark = pytest.mark.slow


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

    assert {
        "jsonrpc": "2.0",
        "method": "push",
        "params": ["a", ["event", {"sub": 1}]],
    } == body(make, framing.notify("event", {"sub": 1}))
    assert [1] == body(make, framing.notify("x", [1]))["params"]


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
    assert 1 == len(shared.encodings)


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


@given(makes, ids, st.dictionaries(texts, plain))
def test_a_result_that_is_encoded_already_in_json_rpc(make: Json, number: int | str, result: dict[str, Any]) -> None:
    """A result may be MessagePack already, in an answer and in a later one."""
    framing, packed = make(), msgpack.packb(result)

    assert framing.answer(number, result) == framing.answer(number, packed)
    assert framing.reply(number, result) == framing.reply(number, packed)
