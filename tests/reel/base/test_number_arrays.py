"""Arrays of numbers that are small, or not."""

from hypothesis import given
from hypothesis import strategies as st

from reel.base.number_arrays import inserted, numbers, replaced

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**31) - 1, 2**31)


@given(st.lists(st.tuples(st.integers(0, 5), NUMBERS, st.booleans())))
def test_an_array_has_what_a_list_has(changes: list[tuple[int, int, bool]]) -> None:
    """Numbers of any size are inserted and replaced as in a list."""
    made, expected = numbers(), list[int]()
    for index, value, is_new in changes:
        if is_new or index >= len(expected):
            made = inserted(made, index, value)
            expected.insert(index, value)
        else:
            made = replaced(made, index, value)
            expected[index] = value

    assert expected == made.tolist()


def test_small_numbers_take_four_bytes() -> None:
    """As long as all of them are small."""
    small = inserted(numbers(), 0, 2**31 - 1)

    assert [4, 8, 8] == [each.itemsize for each in (small, inserted(small, 1, 2**31), replaced(small, 0, 2**31))]
