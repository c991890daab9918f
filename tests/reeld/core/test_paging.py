"""Pages and batches: bounded in items and in bytes, with one item at least."""

import pytest

from reeld.core.paging import PackedPage, batches, packed_page

ITEMS = [b"a", b"bb", b"ccc"]


@pytest.mark.parametrize(
    ("limit", "max_bytes", "expected"),
    [
        (3, 6, PackedPage(ITEMS, more=False)),
        (9, 99, PackedPage(ITEMS, more=False)),
        (2, 99, PackedPage(ITEMS[:2], more=True)),
        (9, 5, PackedPage(ITEMS[:2], more=True)),
        (9, 2, PackedPage(ITEMS[:1], more=True)),
        (9, 0, PackedPage(ITEMS[:1], more=True)),
    ],
)
def test_page_of_three_items(limit: int, max_bytes: int, expected: PackedPage) -> None:
    """A page ends before the first item that fits neither its items nor its bytes."""
    assert expected == packed_page(ITEMS, limit, max_bytes)


def test_page_of_no_items() -> None:
    """An empty list has one empty page."""
    assert PackedPage([], more=False) == packed_page([], 1, 1)


def test_page_reads_one_item_ahead() -> None:
    """What lies behind the page is not read, except for one item that tells that there is more."""
    rest = iter(ITEMS)
    packed_page(rest, 1, 99)

    assert [b"ccc"] == list(rest)


@pytest.mark.parametrize(
    ("most", "room", "expected"),
    [(9, 99, [[1, 2, 3, 1]]), (2, 99, [[1, 2], [3, 1]]), (9, 3, [[1, 2], [3], [1]]), (9, 0, [[1], [2], [3], [1]])],
)
def test_batches(most: int, room: int, expected: list[list[int]]) -> None:
    """A batch ends before the first item that does not fit, and nothing is left out."""
    assert expected == list(batches([1, 2, 3, 1], most, room, int))
    assert [] == list(batches([], most, room, int))


def test_batches_are_read_when_they_are_needed() -> None:
    """Of a list that is read from a file, no more is in memory than a batch and an item."""
    rest = iter([1, 2, 3, 4])

    assert [1, 2] == next(batches(rest, 2, 99, int))
    assert [4] == list(rest)
