"""Rows of calls and results, and how the tests read them."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from reel.said.blocks import InvalidRecord
from reel.said.records import read_row

ONE: dict[str, Any] = {"tool_call_id": "c1", "name": "grep", "arguments": '{"q": "é"}'}
TWO: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"q": "é"}'}}
THREE: dict[str, Any] = {"tool_call_id": "c1", "tool_name": "grep", "tool_args": '{"q": "é"}'}
CALL = {"type": "tool_call", "id": "c1", "name": "grep", "arguments": '{"q": "é"}'}
RESULT: dict[str, Any] = {"tool_call_id": "c1", "output": "found", "success": True}
SIGNED = {"type": "thinking", "text": "hm", "signature": "s"}

readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
name_like = readable.filter(bool)
NULL_OR_OTHER: list[Any] = [None, 5, True, [], {}]
# The kind and the content of rows that read their data.
ROWS = [("user", "hi"), ("assistant", "hi"), ("tool_call", None)]
rows = pytest.mark.parametrize(("kind", "content"), ROWS)


def short(value: Any) -> str:
    """Return a short name of a case."""
    return repr(value)[:30]


def content_of(kind: str, data: Any, content: str | None = "shown") -> Any:
    """Read the blocks of a row whose data is this value."""
    parts = read_row(kind, content, json.dumps(data))
    assert parts is not None
    return parts.content


def fault(kind: str, content: Any, data_json: Any) -> InvalidRecord:
    """Return the error that refuses a row."""
    with pytest.raises(InvalidRecord) as refused:
        read_row(kind, content, data_json)
    return refused.value


def without(data: dict[str, Any], field: str) -> dict[str, Any]:
    """Remove a field."""
    return {key: value for key, value in data.items() if key != field}
