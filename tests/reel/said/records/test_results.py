"""A row of a tool result becomes a message with what the model saw."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.records import read_row
from tests.reel.said.records.rows import NULL_OR_OTHER, RESULT, content_of, fault, name_like, readable, without


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
@pytest.mark.parametrize("content", [None, "shown"])
@pytest.mark.parametrize(
    ("more", "is_error"),
    [
        ({}, False),
        ({"success": False}, True),
        ({"name": None, "summary": None}, False),
        ({"name": "grep", "summary": "1 line"}, False),
        ({"name": "", "anything": [1]}, False),
    ],
)
def test_a_row_of_a_tool_result(kind: str, content: str | None, more: dict[str, Any], is_error: bool) -> None:
    """A result has the output that the model saw, for both kinds, not the text for people."""
    expected = [{"type": "tool_result", "tool_call_id": "c1", "content": "found", "is_error": is_error}]

    assert ("tool", expected, {}) == read_row(kind, content, json.dumps({**RESULT, **more}))


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
def test_a_result_that_does_not_say_that_it_succeeded(kind: str) -> None:
    """A result that does not say whether it succeeded is an error."""
    (block,) = content_of(kind, without(RESULT, "success"))

    assert block["is_error"] is True


@given(name_like, readable, st.booleans())
def test_a_result_comes_back_as_it_is(call_id: str, output: str, success: bool) -> None:
    """The id, output and success of a result are the tool's own."""
    expected = [{"type": "tool_result", "tool_call_id": call_id, "content": output, "is_error": not success}]

    assert expected == content_of("tool_result", {"tool_call_id": call_id, "output": output, "success": success})


NO_RESULTS: list[tuple[dict[str, Any], str]] = [
    ({}, "tool_call_id"),
    (without(RESULT, "tool_call_id"), "tool_call_id"),
    (without(RESULT, "output"), "output"),
    *[({**RESULT, "tool_call_id": value}, "tool_call_id") for value in (None, 5, "", "x" * 1025)],
    *[({**RESULT, "output": value}, "output") for value in NULL_OR_OTHER],
    *[({**RESULT, "success": value}, "success") for value in (None, 0, 1, "true")],
    *[({**RESULT, field: value}, field) for field in ("name", "summary") for value in NULL_OR_OTHER[1:]],
]


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
def test_a_result_that_is_none(kind: str) -> None:
    """The error names a result's field that is missing or of the wrong type."""
    for data, field in NO_RESULTS:
        assert f"data_json.{field}" == fault(kind, None, json.dumps(data)).field, data
