"""Usual messages take a short way to their rows, which makes the same of them as the long one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.blocks import MAX_NAME, InvalidRecord
from reeld.core.usual_messages import usual_rows
from reeld.core.validation import read_carefully

_FIELDS = frozenset({"role", "content", "provider_metadata"})
_CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
_RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "seen"}
_THOUGHT = {"type": "thinking", "text": "hm", "signature": "s", "provider": "p"}

texts = st.text() | st.sampled_from(("", "a\0", "\ud800", "\\u0000", "x" * (MAX_NAME + 1)))
values: st.SearchStrategy[Any] = texts | st.booleans() | st.none() | st.integers() | st.just([]) | st.just({})
blocks: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "thinking", "tool_call", "tool_result", "media", [], None))},
    optional=dict.fromkeys(
        ("text", "id", "name", "arguments", "tool_call_id", "content", "is_error", "signature", "model"), values
    ),
)
usual_blocks = st.sampled_from((_CALL, _RESULT, {**_RESULT, "is_error": True}, _THOUGHT, {"type": "text", "text": "é"}))
altered_blocks = st.builds(
    lambda block, field, value: {**block, field: value},
    usual_blocks,
    st.sampled_from(("id", "name", "content", "is_error", "signature", "text")),
    texts | values,
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(("user", "assistant", "tool", "system", None, [])),
        "content": texts | st.lists(usual_blocks | altered_blocks | blocks | st.none(), max_size=3),
    },
    optional={
        "provider_metadata": st.dictionaries(texts, values, max_size=2) | values,
        "parent": st.integers(),
    },
)


@given(st.lists(messages | values | blocks, max_size=3))
def test_the_row_is_that_of_the_long_way(elements: list[Any]) -> None:
    """What has a row at once has the same if it is read carefully, and nothing in it is altered."""
    for element, row in zip(elements, usual_rows(elements, _FIELDS), strict=True):
        if row is not None:
            assert (row, 0, 0) == read_carefully(element)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "there"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "é"}, _THOUGHT, _CALL], "provider_metadata": None},
        {"role": "assistant", "content": [_CALL]},
        {"role": "assistant", "content": "hi", "provider_metadata": {"model": "m", "done": True, "why": None}},
        {"role": "user", "content": "hi", "provider_metadata": {"usage": {"in": {"n": {"m": "x"}}, "out": -1}}},
        {"role": "tool", "content": [_RESULT]},
        {"role": "tool", "content": [_RESULT, {**_RESULT, "tool_call_id": "c2", "is_error": True}]},
    ],
)
def test_what_is_usual(message: dict[str, Any]) -> None:
    """Texts, thoughts, calls and results, with metadata of few levels."""
    assert usual_rows([message], _FIELDS) == [read_carefully(message)[0]]


@pytest.mark.parametrize(
    ("message", "is_valid"),
    [
        ("hi", True),
        ({"role": "user", "content": "hi", "parent": 1}, False),
        ({"role": "system", "content": "hi"}, True),
        ({"role": [], "content": "hi"}, False),
        ({"role": "user", "content": []}, False),
        ({"role": "user", "content": ["hi"]}, False),
        ({"role": "user", "content": [{"type": [], "text": "hi"}]}, False),
        ({"role": "user", "content": [_CALL]}, False),
        ({"role": "user", "content": "a\0"}, True),
        ({"role": "user", "content": [{"type": "text", "text": 1}]}, False),
        ({"role": "user", "content": [{"type": "text", "text": "hi", "provider_metadata": {}}]}, True),
        ({"role": "assistant", "content": [{**_CALL, "arguments": {}}]}, True),
        ({"role": "assistant", "content": [{**_CALL, "name": "x" * (MAX_NAME + 1)}]}, False),
        ({"role": "assistant", "content": [{**_CALL, "id": ""}]}, False),
        ({"role": "assistant", "content": [{**_CALL, "id": "\0"}]}, False),
        ({"role": "assistant", "content": [{**_THOUGHT, "text": "\ud800"}]}, True),
        ({"role": "tool", "content": [{**_RESULT, "is_error": None}]}, True),
        ({"role": "tool", "content": [{**_RESULT, "is_error": "no"}]}, False),
        ({"role": "tool", "content": [{**_RESULT, "content": True, "is_error": "no"}]}, False),
        ({"role": "tool", "content": [{**_RESULT, "content": [{"type": "text", "text": "seen"}]}]}, True),
        ({"role": "user", "content": "hi", "provider_metadata": []}, False),
        ({"role": "user", "content": "hi", "provider_metadata": {"n": 1 << 60}}, True),
        ({"role": "user", "content": "hi", "provider_metadata": {"n": 1.5}}, True),
        ({"role": "user", "content": "hi", "provider_metadata": {"n": [1]}}, True),
        ({"role": "user", "content": "hi", "provider_metadata": {"a": {"b": {"c": {"d": {}}}}}}, True),
        ({"role": "user", "content": "hi", "provider_metadata": {"a": {"b": {"c": {"d": 1}}}}}, True),
        ({"role": "user", "content": "hi", "provider_metadata": {1: "one"}}, False),
    ],
)
def test_what_is_read_carefully(message: Any, is_valid: bool) -> None:
    """Whatever is more than that, and whatever is wrong."""
    assert [None] == usual_rows([message], _FIELDS)
    if is_valid:
        read_carefully(message)
    else:
        with pytest.raises(InvalidRecord):
            read_carefully(message)
