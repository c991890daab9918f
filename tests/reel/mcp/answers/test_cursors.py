"""Cursors, as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.values import MAX_INTEGER
from reel.mcp.answers.cursors import Cursor, read_cursor

SEQS = st.integers(0, MAX_INTEGER)
PLACES = st.tuples(st.sampled_from(["after", "before"]), SEQS, st.just(0), st.just(0)) | st.tuples(
    st.just("in"), SEQS, st.integers(0, 10**8), st.integers(0, 10**9)
)


@given(PLACES, st.none() | SEQS, st.booleans())
def test_a_cursor_is_read_as_it_was_written(place: tuple[str, int, int, int], at: int | None, thinking: bool) -> None:
    """A cursor that a model passes back is the one that it was given."""
    cursor = Cursor(*place, at, thinking)

    assert cursor == read_cursor(str(cursor))


def test_what_a_cursor_looks_like() -> None:
    """A person can read one."""
    assert "in-12.3+456-at90-thinking" == str(Cursor("in", 12, 3, 456, 90, thinking=True))
    assert "before-12" == str(Cursor("before", 12))


@given(PLACES, st.none() | SEQS, SEQS)
def test_places_that_are_there(place: tuple[str, int, int, int], at: int | None, head: int) -> None:
    """A place exists if its state does, with its message; everything is before the message that comes next."""
    direction, seq, *_ = place
    state = head if at is None else at
    there = {"after": range(state + 1), "before": range(1, state + 2), "in": range(1, state + 1)}[direction]

    assert (state <= head and seq in there) == (not Cursor(*place, at).fault(head))


@pytest.mark.parametrize(
    "text", ["", "12", "after-", "after-x", "after-12+5", "before-12.1", "in-1-at", "in-9" + 15 * "9"]
)
def test_what_is_no_cursor(text: str) -> None:
    """Anything else is not a cursor."""
    assert read_cursor(text) is None
