"""A row of a tool call becomes a message of the model, in whichever of its three shapes it was stored."""

import json
from typing import Any

import pytest
from hypothesis import given

from reel.said.records import read_row
from tests.reel.said.records.rows import (
    CALL,
    NULL_OR_OTHER,
    ONE,
    SIGNED,
    THREE,
    TWO,
    content_of,
    fault,
    name_like,
    readable,
    without,
)

THOUGHT = {"type": "thinking", "text": "hm"}
REDACTED = {"type": "redacted_thinking", "data": "x"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ONE, [CALL]),
        ({**ONE, "thinking": {"text": "hm"}, "more": 1}, [CALL]),
        (TWO, [CALL]),
        (without(TWO, "type"), [CALL]),
        ({**TWO, "function": {**TWO["function"], "strict": True}}, [CALL]),
        (THREE, [CALL]),
        ({**THREE, "thinking": None, "redacted_thinking": None}, [CALL]),
        ({**THREE, "thinking": {"text": "hm"}}, [THOUGHT, CALL]),
        ({**THREE, "thinking": {"text": "hm", "signature": None}}, [THOUGHT, CALL]),
        ({**THREE, "thinking": {"text": "hm", "signature": "s"}}, [SIGNED, CALL]),
        ({**THREE, "redacted_thinking": {"data": "x"}}, [REDACTED, CALL]),
        ({**THREE, "redacted_thinking": {"data": "x"}, "thinking": {"text": "hm"}}, [THOUGHT, REDACTED, CALL]),
    ],
)
@pytest.mark.parametrize("content", [None, "grep(…)"])
def test_every_shape_of_a_call(data: dict[str, Any], expected: list[Any], content: str | None) -> None:
    """A call stored in any of the three shapes becomes the same block, after its thinking."""
    parts = read_row("tool_call", content, json.dumps(data))

    assert ("assistant", expected, {}) == parts


@given(name_like, name_like, readable)
def test_a_call_comes_back_as_it_is(call_id: str, name: str, arguments: str) -> None:
    """The id, name and arguments are unchanged in all three shapes."""
    expected = [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]

    assert expected == content_of("tool_call", {"tool_call_id": call_id, "name": name, "arguments": arguments})
    assert expected == content_of("tool_call", {"id": call_id, "function": {"name": name, "arguments": arguments}})
    assert expected == content_of("tool_call", {"tool_call_id": call_id, "tool_name": name, "tool_args": arguments})


NO_CALLS: list[tuple[dict[str, Any], str]] = [
    ({}, "tool_call_id"),
    *[(without(ONE, field), field) for field in ONE],
    (without(TWO, "id"), "id"),
    ({**TWO, "id": "", "tool_call_id": "c1"}, "id"),
    ({**TWO, "function": None}, "function"),
    ({**TWO, "function": "grep"}, "function"),
    ({**TWO, "function": {"arguments": "{}"}}, "function.name"),
    ({**TWO, "function": {"name": "grep"}}, "function.arguments"),
    ({**TWO, "function": {"name": "grep", "arguments": {}}}, "function.arguments"),
    *[(without(THREE, field), field) for field in THREE],
    ({**THREE, "thinking": "hm"}, "thinking"),
    ({**THREE, "thinking": {}}, "thinking.text"),
    ({**THREE, "thinking": {"text": None}}, "thinking.text"),
    ({**THREE, "thinking": {"text": "hm", "signature": 5}}, "thinking.signature"),
    ({**THREE, "redacted_thinking": []}, "redacted_thinking"),
    ({**THREE, "redacted_thinking": {}}, "redacted_thinking.data"),
    ({**THREE, "redacted_thinking": {"data": 5}}, "redacted_thinking.data"),
    *[({**ONE, field: value}, field) for field in ONE for value in NULL_OR_OTHER],
    *[({**THREE, field: value}, field) for field in THREE for value in NULL_OR_OTHER],
    *[({**ONE, field: value}, field) for field in ("tool_call_id", "name") for value in ("", "x" * 1025)],
    ({"blocks": [CALL]}, "tool_call_id"),
]


def test_a_call_that_is_none() -> None:
    """The error names a call's field that is missing or of the wrong type, in each shape."""
    for data, field in NO_CALLS:
        assert f"data_json.{field}" == fault("tool_call", "shown", json.dumps(data)).field, data
