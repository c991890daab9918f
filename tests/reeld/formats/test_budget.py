"""Which turns are left out if a history is over its budget."""

from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats import budget
from reeld.formats.budget import Cut
from reeld.formats.encoded_turns import extents_of


class Turn(NamedTuple):
    """A turn: its bytes, whether it is the user's, and whether a history may begin there."""

    size: int
    is_user: bool
    can_begin: bool


USER, MODEL = Turn(100, is_user=True, can_begin=True), Turn(100, is_user=False, can_begin=True)
RESULTS, NOTHING = Turn(100, is_user=True, can_begin=False), Turn(0, is_user=False, can_begin=False)
TURN, LOOP = [USER, MODEL], [RESULTS, MODEL]


def find_cut(turns: list[Turn], pinned: int, base: int, limit: int) -> Cut | None:
    """Return which of some turns must be left out."""
    is_user, can_begin = bytes(turn.is_user for turn in turns), bytes(turn.can_begin for turn in turns)
    extents = extents_of([1] * len(turns), [1] * len(turns), is_user, can_begin)
    return budget.find_cut(extents, [0, *accumulate(turn.size for turn in turns)], pinned, base, limit)


def test_nothing_is_cut_from_a_history_that_fits() -> None:
    """All turns stay as long as all of them fit."""
    assert Cut(0, 0) == find_cut([*TURN, *TURN], 0, 0, 400)


def test_a_cut_frees_a_quarter_of_the_budget() -> None:
    """If a history no longer fits, the oldest turns go until three quarters are taken."""
    assert Cut(0, 4) == find_cut([*TURN * 4, USER], 0, 0, 800)
    assert Cut(0, 4) == find_cut([*TURN * 5], 0, 0, 800)


def test_a_cut_history_does_not_begin_with_results() -> None:
    """It continues where the user spoke."""
    assert Cut(0, 6) == find_cut([*TURN, *LOOP * 2, *TURN, USER], 0, 0, 600)


def test_a_long_tool_loop_is_cut_at_a_step() -> None:
    """If the user has not spoken for long, a step of the loop is the first that stays."""
    assert Cut(0, 3) == find_cut([*TURN, *LOOP, RESULTS, NOTHING], 0, 0, 400)


def test_pinned_turns_stay_with_their_answer() -> None:
    """So does the tool loop that belongs to them."""
    assert Cut(2, 6) == find_cut([*TURN * 4, USER], 1, 0, 700)
    assert Cut(4, 6) == find_cut([*TURN, *LOOP, *TURN, USER], 1, 0, 600)
    assert Cut(3, 3) == find_cut([*TURN, USER], 3, 0, 900)


def test_no_cut_helps_if_the_newest_turn_does_not_fit() -> None:
    """The bytes of prompt and extra count as well."""
    assert find_cut([*TURN, USER], 0, 0, 99) is None
    assert find_cut([*TURN, USER], 0, 350, 400) is None
    assert find_cut([*TURN, USER], 3, 0, 200) is None


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.booleans(), st.integers(10, 200), st.integers(10, 200)), min_size=1, max_size=30),
    st.integers(0, 3),
    st.integers(200, 2000),
)
def test_any_cut_fits_and_only_moves_forward(rounds: list[tuple[bool, int, int]], pinned: int, limit: int) -> None:
    """As a history grows, the cut moves only if it must, forward, to a turn at which a history may begin."""
    spans: list[Turn] = []
    before = 0
    for begins, heard, said in rounds:
        spans.append(Turn(heard, is_user=True, can_begin=begins or not spans))
        spans.append(Turn(said, is_user=False, can_begin=True))
        stays = pinned_turns(spans, pinned)
        before = max(before, stays)

        found = find_cut(spans, min(pinned, len(spans)), 0, limit)

        if found is None:
            assert kept_bytes(spans, stays, max(stays, len(spans) - 1)) > limit
        else:
            start, end = found
            assert start == stays
            assert kept_bytes(spans, start, end) <= limit
            assert end >= before
            if end > before:
                assert spans[end].can_begin
                assert kept_bytes(spans, start, before) > limit
            before = end


def pinned_turns(spans: list[Turn], pinned: int) -> int:
    """Return how many turns stay if some are pinned: those up to where the user speaks next."""
    if not pinned:
        return 0
    rest = range(pinned, len(spans))
    return next((index for index in rest if spans[index].is_user and spans[index].can_begin), len(spans))


def kept_bytes(spans: list[Turn], start: int, end: int) -> int:
    """Return the bytes of the turns that a cut keeps."""
    return sum(span.size for span in [*spans[:start], *spans[end:]])
