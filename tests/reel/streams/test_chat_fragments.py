"""Fragments of lists in chat completion chunks."""

from typing import Any

import pytest

from reel.streams.chat_fragments import joined_details, joined_parts, text_in

TEXT = {"type": "reasoning.text", "text": "a"}


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([TEXT, {**TEXT, "text": "b"}], [{"type": "reasoning.text", "text": "ab"}]),
        ([TEXT, {"type": "x"}, TEXT], [TEXT, {"type": "x"}, TEXT]),
        ([TEXT, {"type": "reasoning.summary", "summary": "b"}], [TEXT, {"type": "reasoning.summary", "summary": "b"}]),
        (
            [{**TEXT, "index": 0}, {**TEXT, "index": 1}, {**TEXT, "index": 0, "signature": "s"}],
            [{**TEXT, "index": 0, "text": "aa", "signature": "s"}, {**TEXT, "index": 1}],
        ),
        ([5, None, {"type": []}], [5, None, {"type": []}]),
    ],
)
def test_details_are_joined_by_kind_and_index(fragments: list[Any], expected: list[Any]) -> None:
    """One without an index continues only the last; what is unknown stays as it is."""
    assert expected == joined_details(fragments)


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], [{"type": "text", "text": "ab"}]),
        ([{"type": "text", "text": "a", "x": 1}], [{"type": "text", "text": "a", "x": 1}]),
        ([{"type": "text", "text": 5}, 5], [{"type": "text", "text": 5}, 5]),
        (
            [{"type": "thinking"}, {"type": "thinking", "thinking": "a"}],
            [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}],
        ),
    ],
)
def test_parts_are_joined_with_their_neighbours(fragments: list[Any], expected: list[Any]) -> None:
    """Only plain texts are, and reasoning; what is unknown stays as it is."""
    assert expected == joined_parts(fragments)


@pytest.mark.parametrize(
    ("content", "text"), [("a", "a"), ([{"type": "text", "text": "a"}, 5], "a"), (None, ""), (5, "")]
)
def test_the_text_of_content(content: Any, text: str) -> None:
    """Anything but a text says nothing."""
    assert text == text_in(content)
