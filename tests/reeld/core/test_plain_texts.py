"""Plain texts take short ways through the core, which make the same of them as the long ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import InvalidMessage
from reel.wire.msgpack_codec import unpack
from reeld.core import commands
from reeld.core.conversation import Conversation
from reeld.core.events import Tools
from reeld.core.stage import Stage
from reeld.core.state import State
from reeld.core.validation import UNALTERED, rows_from
from tests.reeld.core.memory import pack, profile

texts = st.text() | st.text(st.sampled_from("a\0\ud800é"), max_size=4)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "thinking", "tool_call", None)), "text": texts | st.integers()},
    optional={"id": texts, "provider_metadata": st.none()},
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(("user", "assistant", "tool", "system", None, 1)),
        "content": texts | st.lists(blocks, max_size=2),
    },
    optional={"seq": st.integers(), "text": texts},
)


def _rows(*elements: Any) -> Any:
    try:
        return rows_from(list(elements))
    except InvalidMessage as error:
        return str(error)


@given(messages)
def test_a_plain_message_is_stored_as_any_other(message: dict[str, Any]) -> None:
    """A message of one text has the same row, or the same error, as it has beside an empty field."""
    assert _rows({**message, "provider_metadata": None}) == _rows(message)


@pytest.mark.slow
@given(st.lists(messages, min_size=1, max_size=3), st.integers(1, 2**53))
def test_a_reply_that_is_encoded_at_once(elements: list[Any], now: int) -> None:
    """An add stages the same and replies the same, whether its reply is a map or encoded already."""
    try:
        rows, altered = rows_from(elements)
    except InvalidMessage:
        return
    one, other = (Stage(State(profile(1), Conversation()), now, pack) for _ in range(2))
    reply = commands.add_packed(one, rows, altered)

    assert (unpack(reply) if isinstance(reply, bytes) else reply) == commands.add(other, rows, altered)
    assert isinstance(reply, bytes) == (altered is UNALTERED)
    assert one.events == other.events
    assert one.profile == other.profile


@given(
    st.lists(st.tuples(st.sampled_from(("user", "assistant")), st.text()), min_size=1, max_size=3),
    st.integers(1, 2**53),
    st.booleans(),
    st.booleans(),
)
def test_texts_are_added_as_lists_of_them(
    given_texts: list[tuple[str, str]], now: int, is_open: bool, is_marked: bool
) -> None:
    """To add texts together stages and replies what adding each in a list does, whether a call is open or not."""
    plain = [(kind, text.replace("\0", "")) for kind, text in given_texts]
    one, other = (Stage(State(profile(1), Conversation()), now, pack) for _ in range(2))
    for stage in (one, other):
        stage.client = "editor"
        stage.note_tools(1, Tools((("c1", "look"),) if is_open else (), ()))
        if is_marked:
            stage.put_mark(stage.next_seq, "here")
    singly = [commands.add_packed(one, *rows_from([{"role": kind, "content": text}])) for kind, text in plain]

    assert singly == commands.add_texts(other, plain)
    assert one.events == other.events
    assert one.profile == other.profile
