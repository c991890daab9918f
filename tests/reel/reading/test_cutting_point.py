"""Where a conversation can be cut for a summary."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.cutting_point import Cut, find_cut


def conversation(words: str) -> list[Any]:
    """Return messages with the seqs 10, 20, …: ``u`` asks, ``a`` answers, ``1`` calls, and ``!`` answers all calls.

    ``o`` has no word.
    """
    messages: list[Any] = []
    waiting: list[str] = []
    for number, word in enumerate(words, 1):
        content: list[Any] = [{"type": "text", "text": word}]
        if word == "1":
            waiting.append(f"c{number}")
            content = [{"type": "tool_call", "id": waiting[-1], "name": "look", "arguments": "{}"}]
        elif word == "!":
            content = [
                {"type": "tool_result", "tool_call_id": each, "content": "", "is_error": False} for each in waiting
            ]
            waiting.clear()
        elif word == "o":
            content = [{"type": "opaque", "provider": "x", "data_json": "{}"}]
        role = {"u": "user", "!": "tool"}.get(word, "assistant")
        messages.append({"role": role, "content": content, "seq": 10 * number})
    return messages


@pytest.mark.parametrize(
    ("words", "keep", "mark", "cut"),
    [
        ("uauaua", 2, None, Cut(10, 20, 2, 4)),
        ("uauaua", 0, None, Cut(10, 60, 6, 0)),
        ("uauau", 1, None, Cut(10, 40, 4, 1)),
        # Several questions in a row are one turn.
        ("uauuauua", 1, None, Cut(10, 50, 5, 3)),
        # The calls of a turn stay with their results, also if somebody spoke in between.
        ("ua1!aua", 1, None, Cut(10, 50, 5, 2)),
        ("uau1u!aua", 2, None, Cut(10, 20, 2, 7)),
        # Calls that are open stay.
        ("uau1", 0, None, Cut(10, 20, 2, 2)),
        ("u1", 0, None, None),
        # There are not that many.
        ("uaua", 2, None, None),
        ("uaua", 3, None, None),
        ("", 0, None, None),
        # What a framework begins with stays.
        ("ouaua", 1, None, Cut(20, 30, 2, 2)),
        ("ouoaua", 1, None, Cut(20, 40, 3, 2)),
        ("oo", 0, None, None),
        # A mark, or the last place before it.
        ("uauaua", 0, 41, Cut(10, 40, 4, 2)),
        ("uauaua", 0, 35, Cut(10, 20, 2, 4)),
        ("uauaua", 0, 61, Cut(10, 60, 6, 0)),
        ("uauaua", 0, 15, None),
    ],
)
def test_places_to_cut(words: str, keep: int, mark: int | None, cut: Cut | None) -> None:
    """What stays begins with a question and has so many of them, and is behind the mark."""
    assert cut == find_cut(conversation(words), keep=keep, mark=mark)


@given(st.text("ua1!", max_size=20), st.integers(0, 4))
def test_both_sides_are_complete(words: str, keep: int) -> None:
    """No result is on the other side of the cut than its call, and all messages are on one."""
    messages = conversation(words)
    cut = find_cut(messages, keep=keep)
    if cut is None:
        return
    before, after = messages[: cut.summarized], messages[cut.summarized :]
    assert (cut.first, cut.last, len(after)) == (before[0]["seq"], before[-1]["seq"], cut.kept)
    for side, other in ((before, after), (after, before)):
        calls = {block["id"] for each in side for block in each["content"] if block["type"] == "tool_call"}
        results = {
            block["tool_call_id"] for each in other for block in each["content"] if block["type"] == "tool_result"
        }
        assert not calls & results
