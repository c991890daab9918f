"""Errors in MessagePack: pairs as Neovim shows them, or maps."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import BY_NAME, InvalidParams, InvalidRequest, NotFound, ParseError, ReelError, as_map, from_wire
from reel.wire.frames import Response
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.reeld.wire.messagepack import ids

pytestmark = pytest.mark.slow

any_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud800\udfff"), max_size=40)
errors = st.sampled_from(sorted(BY_NAME)).map(lambda name: BY_NAME[name])


def mended(text: str) -> str:
    """Replace each character that a text may not contain."""
    return "".join("\ufffd" if ord(each) == 0 or 0xD800 <= ord(each) <= 0xDFFF else each for each in text)


@given(ids | st.none(), errors, any_text, st.booleans())
def test_an_error_goes_from_end_to_end_in_msgpack(
    request_id: int | None, error: type[ReelError], text: str, error_maps: bool
) -> None:
    """An error of one end is raised at the other, in either shape, with a clean text."""
    (answer,) = ServerMessagePack().feed(ServerMessagePack(error_maps=error_maps).refuse(request_id, error(text)))
    assert isinstance(answer, Response)
    raised = from_wire(answer.error)

    assert (request_id, None) == (answer.id, answer.result)
    assert (error, mended(text)) == (type(raised), raised.message)


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
    assert [1, request_id, expected, None] == msgpack.unpackb(ServerMessagePack().refuse(request_id, error))


@pytest.mark.parametrize("error", sorted(BY_NAME))
def test_only_wrong_parameters_are_marked(error: str) -> None:
    """Exactly one error has the number 1."""
    (number, text) = msgpack.unpackb(ServerMessagePack().refuse(1, BY_NAME[error]("x")))[2]

    assert (int(error == "invalid_params"), f"{error}: x") == (number, text)


def test_an_error_as_a_map() -> None:
    """If maps were requested, an error has its code, its name and its data."""
    framing = ServerMessagePack()
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

    assert [1, 7, as_map(error), None] == msgpack.unpackb(ServerMessagePack(error_maps=True).refuse(7, error))


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

    assert [1, 7, expected, None] == msgpack.unpackb(ServerMessagePack(error_maps=error_maps).refuse(7, error))
    assert "a\ud800\x00" == error.data["agent"]


def test_a_refusal_of_what_could_not_be_read() -> None:
    """An error without a request is a reply without an id."""
    data = ServerMessagePack().refuse(None, ParseError("not MessagePack"))

    assert ServerMessagePack().feed(data) == [Response(None, [0, "parse_error: not MessagePack"], None)]


def test_a_later_error_in_msgpack() -> None:
    """A later error always arrives as a map with a clean text."""
    error = NotFound("no agent z\ud800", agent="z\ud800")
    expected = {**as_map(NotFound("no agent z\ufffd", agent="z\ufffd"))}

    assert [2, "reply", [{"token": 7, "error": expected}]] == msgpack.unpackb(ServerMessagePack().reply(7, error))
