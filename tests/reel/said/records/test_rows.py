"""A stored row becomes a message, nothing, or an error that names its field."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.blocks import InvalidRecord
from reel.said.kinds import INERT, STATE
from reel.said.records import message_from_record, read_row, system_text
from tests.reel.said.records.rows import CALL, ONE, RESULT, THREE, TWO, fault, short

WITHOUT_MESSAGE: list[Any] = ["system", *sorted(STATE | INERT), "brand_new", "", None, 5, ["user"]]


@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_plain_row_is_one_text(kind: str) -> None:
    """A row without data is a message of one text block, with its position in the conversation."""
    record = {"seq": 7, "kind": kind, "content": "hi", "data_json": None, "time": 1_700_000_000_000}
    expected = {
        "role": kind,
        "content": [{"type": "text", "text": "hi"}],
        "provider_metadata": {},
        "seq": 7,
        "time": 1_700_000_000_000,
    }

    assert expected == message_from_record(record)


def test_a_record_with_data() -> None:
    """The data of a record is read like that of a row."""
    message = message_from_record({"kind": "tool_call", "data_json": json.dumps(ONE), "seq": 7})

    assert message is not None
    assert ("assistant", [CALL], 7) == (message["role"], message["content"], message["seq"])


def test_what_a_record_lacks() -> None:
    """A record without a position has zeros for it, and unknown columns are ignored."""
    message = message_from_record({"kind": "user", "content": "", "client": "nvim"})

    assert message is not None
    assert (0, 0) == (message["seq"], message["time"])
    assert [{"type": "text", "text": ""}] == message["content"]


@given(st.sampled_from(["user", "assistant"]), st.text())
def test_a_text_comes_back_as_it_is(kind: str, text: str) -> None:
    """A message has the text of its row, whatever the text is."""
    parts = read_row(kind, text, None)

    assert (kind, [{"type": "text", "text": text}], {}) == parts


@pytest.mark.parametrize("kind", WITHOUT_MESSAGE)
def test_a_kind_without_a_message(kind: Any) -> None:
    """Prompts, metadata and unknown kinds are not messages, whatever their row contains."""
    for content, data_json in product([None, "text"], [None, "{", "{}", "[" * 100_000, 5]):
        message = message_from_record({"kind": kind, "content": content, "data_json": data_json})

        assert message is None, (content, short(data_json))


def test_a_record_without_a_kind() -> None:
    """A record without a kind is not a message."""
    assert message_from_record({}) is None


@pytest.mark.parametrize(("content", "expected"), [("be brief", "be brief"), (" ", " "), ("", None), (None, None)])
def test_what_a_system_row_sets(content: str | None, expected: str | None) -> None:
    """A system row sets the prompt, and an empty one removes it."""
    assert expected == system_text(content)


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize("data_json", [None, "{}", "[", '{"blocks": [{"type": "text", "text": "x"}]}'])
@pytest.mark.parametrize(("content", "got"), [(None, "null"), (5, "an integer"), (b"hi", "bytes")])
def test_a_row_without_a_text(kind: str, content: Any, got: str, data_json: str | None) -> None:
    """A row that needs a text and has none is not a message."""
    error = fault(kind, content, data_json)

    assert "content" == error.field
    assert error.reason.endswith(f"got {got}")


@pytest.mark.parametrize("kind", ["tool_call", "tool_result", "tool"])
def test_a_tool_row_without_data(kind: str) -> None:
    """A tool's row without data is not a message."""
    error = fault(kind, "shown", None)

    assert ("data_json", "expected a JSON text, got null") == (error.field, error.reason)


fields = st.sampled_from(
    [*ONE, *TWO, *THREE, *RESULT, "thinking", "redacted_thinking", "blocks", "provider_metadata", "text", "\x00\ud800"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "c1", "text", "tool_call", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4),
)
any_kind = st.sampled_from(["user", "assistant", "tool_call", "tool_result", "tool"])


@given(any_kind, st.none() | st.text(), values.map(json.dumps) | st.text() | st.binary() | st.none())
def test_there_is_no_fourth_way(kind: str, content: str | None, data_json: Any) -> None:
    """Any row becomes a message of its role, or an error that names the field."""
    roles = {"user": "user", "assistant": "assistant", "tool_call": "assistant", "tool_result": "tool", "tool": "tool"}
    try:
        parts = read_row(kind, content, data_json)
    except InvalidRecord as error:
        outcome = error.field.partition(".")[0]
    else:
        outcome = parts.role if parts is not None else "nothing"

    assert outcome in {roles[kind], "content", "data_json"}
