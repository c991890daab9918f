"""A row with several blocks becomes the message that was stored, block by block."""

import json
from typing import Any

import pytest

from reel.said.records import read_row
from tests.reel.said.records.rows import CALL, RESULT, SIGNED, content_of, fault


@pytest.mark.parametrize("metadata", [{}, {"provider_metadata": {"model": "m"}}, {"provider_metadata": None}])
@pytest.mark.parametrize(
    ("kind", "role", "blocks"),
    [
        ("user", "user", [{"type": "text", "text": "a"}, {"type": "media", "mime_type": "image/png", "url": "u"}]),
        ("assistant", "assistant", [SIGNED, {"type": "text", "text": "a"}, CALL, {**CALL, "id": "c2"}]),
        ("tool_result", "tool", [{"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": False}]),
        ("tool", "tool", [{"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": True}]),
    ],
)
def test_a_row_of_several_blocks(kind: str, role: str, blocks: list[Any], metadata: dict[str, Any]) -> None:
    """A message of several blocks is read as it was written, without its readable text."""
    expected = (role, blocks, metadata.get("provider_metadata") or {})

    assert expected == read_row(kind, "readable", json.dumps({"blocks": blocks, **metadata}))


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("user", {"blocks": None}, "blocks"),
        ("user", {"blocks": []}, "blocks"),
        ("user", {"blocks": ["x"]}, "blocks[0]"),
        ("user", {"blocks": [CALL]}, "blocks[0].type"),
        ("assistant", {"blocks": [CALL, {"type": "text"}]}, "blocks[1].text"),
        ("tool_result", {"blocks": [{"type": "text", "text": "x"}]}, "blocks[0].type"),
        ("tool", {"blocks": 5}, "blocks"),
        ("tool", {"blocks": [{"type": "tool_result", "tool_call_id": "c1"}]}, "blocks[0].content"),
        (
            "tool_result",
            {"blocks": [{"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": 0}]},
            "blocks[0].is_error",
        ),
        ("user", {"blocks": [{"type": "text", "text": "x"}], "provider_metadata": "m"}, "provider_metadata"),
        ("user", {"blocks": [{"type": "text", "text": "x"}], "provider_metadata": []}, "provider_metadata"),
    ],
)
def test_blocks_that_are_none(kind: str, data: dict[str, Any], field: str) -> None:
    """In our own form the path of an error names the wrong field."""
    assert f"data_json.{field}" == fault(kind, "readable", json.dumps(data)).field


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
@pytest.mark.parametrize(
    ("said", "is_error"),
    [({}, False), ({"is_error": None}, False), ({"is_error": False}, False), ({"is_error": True}, True)],
)
def test_a_result_in_blocks_says_whether_it_failed(kind: str, said: dict[str, Any], is_error: bool) -> None:
    """In our own form a result succeeds unless it says otherwise, and its block always says which."""
    block = {"type": "tool_result", "tool_call_id": "c1", "content": "x"}
    failed = {**block, "is_error": True}
    first, second = content_of(kind, {"blocks": [{**block, **said}, failed]})

    assert {**block, "is_error": is_error} == first
    assert type(first["is_error"]) is bool
    assert failed == second


def test_a_tool_row_may_have_a_key_called_blocks() -> None:
    """Only data with exactly blocks and metadata is in our own form."""
    (block,) = content_of("tool_result", {**RESULT, "blocks": []})

    assert "found" == block["content"]
