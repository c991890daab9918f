"""Answers: fences that nothing said can end, and a room that is never exceeded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.mcp.answers.answer import Answer, beginning, end, size

TEXTS = st.text() | st.sampled_from(["\U0001f600" * 50, "ä" * 99, "--- 12345678 ends", ""])


@given(TEXTS, st.integers(0, 300))
def test_no_more_of_a_text_than_fits(text: str, room: int) -> None:
    """The beginning and the end of a text are parts of it, whole characters, and as long as there is room."""
    first, last = beginning(text, room), end(text, room)

    assert text.startswith(first)
    assert text.endswith(last)
    assert size(first) <= room
    assert size(last) <= room
    assert size(text) > room or text == first == last


@given(st.text(min_size=1))
def test_what_was_said_cannot_end_the_fence(said: str) -> None:
    """The mark of the fences occurs in their two lines and in our warning, and nowhere in what was said."""
    lines = Answer(("before",), said, ("after",)).text.split("\n")
    mark = lines[2].removeprefix("--- ").removesuffix(" begins")

    assert mark not in said
    assert f"--- {mark} ends" == lines[-2]
    assert ["before", "after"] == [lines[0], lines[-1]]


def test_a_text_with_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mark that the text happens to have is not taken; with marks of a digit, most texts have some."""
    monkeypatch.setattr("reel.mcp.answers.answer._MARK_DIGITS", 1)
    for number in range(50):
        said = f"0123456789abcde {number}"

        assert "--- f ends" == Answer((), said).text.splitlines()[-1]


@given(st.text(min_size=1), st.text(max_size=50))
def test_room(said: str, ours: str) -> None:
    """What has exactly the room that an answer names makes it exactly as long as its budget."""
    answer = Answer((ours,), said, (ours,))
    budget = size(answer.text)

    assert size(said) == answer.room(budget)
