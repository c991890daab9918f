"""What is left out when a history is over its budget."""

from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.budget import Cut, find_cut
from reeld.formats.render_state import TurnExtent

USER, MODEL = TurnExtent(1, 100, 1, is_user=True, can_begin=True), TurnExtent(1, 100, 1, is_user=False, can_begin=True)
RESULTS, NOTHING = (
    TurnExtent(1, 100, 1, is_user=True, can_begin=False),
    TurnExtent(0, 0, 1, is_user=False, can_begin=False),
)
TURN, LOOP = [USER, MODEL], [RESULTS, MODEL]


def test_what_fits_stays() -> None:
    """Nothing is left out as long as all fits."""
    assert Cut(0, 0) == find_cut([*TURN, *TURN], 0, 0, 400)


def test_a_quarter_is_made_free_at_once() -> None:
    """When it does not fit any more, the oldest turns go until three quarters are taken."""
    assert Cut(0, 4) == find_cut([*TURN * 4, USER], 0, 0, 800)
    assert Cut(0, 4) == find_cut([*TURN * 5], 0, 0, 800)


def test_a_call_keeps_its_result() -> None:
    """A history does not begin with results; it goes on where the user spoke."""
    assert Cut(0, 6) == find_cut([*TURN, *LOOP * 2, *TURN, USER], 0, 0, 600)


def test_a_long_loop_is_cut_at_one_of_its_steps() -> None:
    """Where the user has not spoken for long, a step of the loop is the first that stays."""
    assert Cut(0, 3) == find_cut([*TURN, *LOOP, RESULTS, NOTHING], 0, 0, 400)


def test_what_is_pinned_stays() -> None:
    """The pinned turns stay with the answer and the tool loop that belong to them."""
    assert Cut(2, 6) == find_cut([*TURN * 4, USER], 1, 0, 700)
    assert Cut(4, 6) == find_cut([*TURN, *LOOP, *TURN, USER], 1, 0, 600)
    assert Cut(3, 3) == find_cut([*TURN, USER], 3, 0, 900)


def test_the_newest_turn_must_fit() -> None:
    """Where not even that fits, there is no cut; what is there anyway counts."""
    assert find_cut([*TURN, USER], 0, 0, 99) is None
    assert find_cut([*TURN, USER], 0, 350, 400) is None
    assert find_cut([*TURN, USER], 3, 0, 200) is None


@given(
    st.lists(st.tuples(st.booleans(), st.integers(10, 200), st.integers(10, 200)), min_size=1, max_size=30),
    st.integers(0, 3),
    st.integers(200, 2000),
)
def test_it_fits_and_stands_still(rounds: list[tuple[bool, int, int]], pinned: int, limit: int) -> None:
    """What is left fits; as the history grows, the cut only moves forward, and begins where a history may."""
    spans: list[TurnExtent] = []
    before = 0
    for begins, heard, said in rounds:
        spans.append(TurnExtent(1, heard, 1, is_user=True, can_begin=begins or not spans))
        spans.append(TurnExtent(1, said, 1, is_user=False, can_begin=True))
        found = find_cut(spans, pinned, 0, limit)
        if found is not None:
            start, end = found
            kept = [*spans[:start], *spans[end:]]

            assert sum(span.size for span in kept) <= limit
            assert start == end or spans[end].can_begin
            assert end >= before
            before = end
